"""What the curator declares.

Comes in: a manifest, or the same words as arguments.
Goes out: `manifest.Catalog`: tables, the kinds and bounds of their columns, units, limits, the budget.
May not know: questions, prices, engines, or any cell of the data.
"""
