"""Output ports of a switch."""

from typing import Final, Literal

from pydantic import Field

from longpipe.scenario.base import Buffer, Model, kinds_that
from longpipe.scenario.parts import Part, part
from longpipe.scenario.policies import Policy, TailDrop
from longpipe.scenario.schedulers import Fifo, Scheduler

Ties = Literal["port-order", "rotating", "random"]

# Policies for cells, and policies for packets; RED is among both, and its unit decides which of the two it handles.
FOR_CELLS: Final = kinds_that(Policy, lambda model: model.cells)
FOR_PACKETS: Final = kinds_that(Policy, lambda model: model.packets)
# Policies that decide by the occupancy of the buffer alone. A larger buffer reduces their number of drops.
BY_OCCUPANCY: Final = kinds_that(Policy, lambda model: model.decides in ("by-occupancy", "by-frame"))


class Switch(Model):
    """Output ports of all switches, in both directions; hosts' interfaces have unlimited queues."""

    buffer: Buffer = Field(
        default="1000 cells",
        description="Size of the buffer for UBR cells or IP packets, including the one in service [cells, packets, "
        "bytes, BDP or time], or 'unlimited'; ATM Forum/96-1761 table 1 (1 BDP with framing ip)",
    )
    policy: Part[Policy] = part(
        default=TailDrop.unchecked(),
        description="Queue discipline of a port: which packets or frames it drops or marks, and when",
    )
    scheduler: Part[Scheduler] = part(
        default=Fifo.unchecked(),
        description="Service of VBR and UBR at a port: fifo, priority or guaranteed-rate; of its VCs: wfq",
    )
    ties: Ties = Field(default="random", description="Order of cells or packets that reach a switch at the same time")
    slot_phase: float = Field(
        default=0.5,
        ge=0,
        lt=1,
        description="Offset of output slots from the slots in which cells arrive [cell times]; not used by IP",
    )
