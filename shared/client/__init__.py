"""The typed client of the HTTP API, used by the command line and by whoever else drives a gateway from Python.

Importing this package loads nothing; `shared.client.client` loads the HTTP library.
"""
