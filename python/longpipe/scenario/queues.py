"""Base of the queue disciplines and policies of ports, which `policies.py` defines."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from longpipe.scenario.base import Model


@dataclass(frozen=True)
class Mahimahi:
    """A queue of mahimahi that corresponds to a queue discipline of longpipe."""

    name: str
    # Arguments of the queue [ms], each with the field that it sets.
    arguments: Mapping[str, str] = field(default_factory=dict)
    # Values of fields that are constants of mahimahi.
    constants: Mapping[str, str] = field(default_factory=dict)


class Queue(Model):
    """A queue discipline of a port: which packets or frames it drops or marks, and when."""

    # Facts that the core declares (crates/network/src/policies/parameters.rs): whether the discipline exists for cells
    # and for IP packets, when it decides, which packets it marks, its processor time per packet in addition to that of
    # tail drop [ns], and the corresponding queue of mahimahi. Generated models define those that differ from these.
    cells: ClassVar[bool] = False
    packets: ClassVar[bool] = True
    decides: ClassVar[str] = "at-enqueue"
    marks: ClassVar[str] = "nothing"
    cost_ns: ClassVar[int] = 0
    mahimahi: ClassVar[Mahimahi | None] = None
