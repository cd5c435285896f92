"""The wall between analysts and data: identity, HTTP, worker processes, and the analyst's side of it.

people, role      who may ask what; tokens are kept as hashes
gate, api         the process that talks to the network; it opens neither data nor ledger
pool, worker      questions run in processes of their own, which are killed past their limits
answering         from an identity and a request to the bytes that may leave
client            `dp.connect`: a session from the other side of the wall
"""
