"""Small faults planted in the source on purpose: a test that guards a promise must notice each of them."""
