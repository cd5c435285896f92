"""The PostgreSQL protocol: the same wall, for every client that speaks to PostgreSQL.

At the network, without data or ledger:
frame, scram, types, statement, setting, fault, result  pure: bytes and values
login, conversation, asking                        what is said on one connection, and the way to a worker
door                                               sockets, TLS, limits, Cancel

In a worker:
shape                                              the columns, rows and parameters of a question
system, relations, reckon, expression, scalar      what clients ask about the catalogue, from declarations
"""
