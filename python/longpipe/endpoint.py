"""A single TCP sender without a network, driven by calls: `Endpoint(tcp_json)` of a resolved scenario's TCP."""

from longpipe._core import Endpoint

__all__ = ["Endpoint"]
