"""What an answer costs and how far off it may be.

Comes in: a checked question and what may be spent, or how close the answer must be.
Goes out: `expected.Quote`: a mechanism for every measurement, the cost, the error of every column; and the
claim that the checker of statements must derive (`proving`).
May not know: who asks, what was spent before, engines, data.
"""
