"""Independent models of access links, from which the tables in `tests/data/access` were computed.

Nothing here imports longpipe: the tables are what longpipe's access links are compared with. Each module computes one
table; `python -m access_witnesses` in `tests` writes all of them (about two minutes of CPU time).
"""
