"""From a question to what it needs: parsed, checked, rewritten and priced, without touching data."""
