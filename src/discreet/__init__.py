"""discreet: answers questions about people without giving any one of them away."""
