"""One theorem per file: each mechanism is a frozen value that knows its law, its privacy and its accuracy."""
