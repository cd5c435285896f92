"""The only room that sees data: declared tables and proved statements in, exact integers out.

Comes in: where tables come from (`protocol.Origin`), and statements whose claims the checker derived.
Goes out: `exact.Exact`, which only the release can read, and one constant error for whatever goes wrong.
May not know: analysts, prices, the ledger, or who will read an answer.

`protocol` is what every engine offers; `opening` chooses one; each engine has a package of its own.  How
text files and frames are read (`records`, `frame`, `cells`) and what SQL is in every dialect (`sql`) belong
to all of them.
"""
