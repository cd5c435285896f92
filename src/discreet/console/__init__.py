"""Pages for analysts, curators and auditors, by the process at the network: it opens no data and no ledger.

door, visit        who comes in: cookies, forms that cannot be forged, headers, sizes, rates
desk               the way to a worker and back, the same as that of the HTTP interface
analyst, curator   functions from an identity and a request to a page
wizard, surveyor   from a source to a manifest: the pages, and who reads the schema, in a process of its own
view               frozen values that templates show; english.toml has the words
"""
