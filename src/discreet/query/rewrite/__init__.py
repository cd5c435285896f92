"""How a checked question is asked of an engine.

Comes in: a checked question, or a table to be prepared.
Goes out: `discreet.query.statement.Statement`: integers per group, contributions bounded inside, no name of
an analyst, in no engine's dialect.
May not know: prices, who asks, which engine will run it, data.
"""
