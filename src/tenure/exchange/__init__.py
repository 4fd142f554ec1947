"""Readers of foreign formats, over `client`: a file becomes objects, and those go to the service in one transaction.

`reading` has the values, one module a format reads a text into them, `planning` makes the objects that are missing
out of them, `importing` sends these. `scans` reads what scanners print: who was seen where.
"""
