"""Stores finished runs in a database as soon as they end, with traces in Parquet files next to it.

address ─▶ store ─▶ runs and summaries (packing), traces, leases of runs in flight, studies
             └─ schema, older: the tables, and the reader of older versions
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from longpipe.store.address import default_url
    from longpipe.store.errors import StoreError
    from longpipe.store.packing import Packed, pack
    from longpipe.store.store import Store
    from longpipe.system.provenance import engine_version

__all__ = ["Packed", "Store", "StoreError", "default_url", "engine_version", "pack"]

if not TYPE_CHECKING:
    from longpipe.system.lazy import lazy_attributes

    # Imported on demand, because workers only pack runs and need no database.
    __getattr__, __dir__ = lazy_attributes(
        __name__,
        {
            "Packed": "longpipe.store.packing",
            "Store": "longpipe.store.store",
            "StoreError": "longpipe.store.errors",
            "default_url": "longpipe.store.address",
            "engine_version": "longpipe.system.provenance",
            "pack": "longpipe.store.packing",
        },
    )
    del lazy_attributes
