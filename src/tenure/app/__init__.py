"""Where rooms are joined: settings to store to services to surfaces, one process each.

`supervise` starts and keeps the others; `ledger` has the writer, `api`, `dns`
and `dhcp` have a surface each. Each is a module that runs by itself and
imports only what it needs.
"""
