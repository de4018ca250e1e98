"""Finished runs in a database, each stored the moment it ends, their traces in Parquet files beside it.

address ─▶ store ─▶ runs and summaries (packing), traces, claims of runs in flight, studies
             └─ schema, migrations: the tables, and how those of older versions become them
"""

from longpipe.store.address import default_url
from longpipe.store.errors import StoreError
from longpipe.store.packing import Packed, pack
from longpipe.store.store import Store, digest_of, engine_version

__all__ = ["Packed", "Store", "StoreError", "default_url", "digest_of", "engine_version", "pack"]
