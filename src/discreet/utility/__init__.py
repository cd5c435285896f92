"""How useful an answer is to this analyst, what to guess from it, and which mechanism is best."""
