"""What a question asks of people.

Comes in: a plan and the catalog.
Goes out: `measurement.Checked`: whose rows are read, which integers are measured in which groups, how far one
person moves them, how the answer follows from the noisy ones; and its `identity`.
May not know: budgets and prices, how statements are written, engines, data.
"""
