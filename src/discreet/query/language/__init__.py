"""What people write, as a plan.

Comes in: SQL text, or calls of the dataframe face.
Goes out: `discreet.query.plan.Block`, a closed tree; whatever it cannot say is refused here.
May not know: which tables exist, what their columns mean, prices, engines, data.
"""
