"""The only room that sees data: engines that return exact integers and nothing else."""
