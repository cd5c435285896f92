"""What privacy means: who counts as a neighbour, how far a person moves an answer, what is promised."""
