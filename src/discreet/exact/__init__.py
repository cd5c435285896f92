"""Exact arithmetic and exact randomness: what the mechanisms stand on."""
