"""What people write, as a plan.

Comes in: SQL text, in a dialect if one is named, calls of the dataframe face, or an Ibis expression.
Goes out: `discreet.query.plan.Block`, a closed tree; whatever it cannot say is refused here.
May not know: which tables exist, what their columns mean, prices, engines, data.
"""
