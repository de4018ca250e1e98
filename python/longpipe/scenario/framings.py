"""Policies by what they decide on: cells or packets, and the occupancy of the buffer."""

from typing import Final

from longpipe.scenario.base import kinds_that
from longpipe.scenario.policies import Policy

# Policies for cells, and policies for packets; RED is among both, and its unit decides which of the two it handles.
FOR_CELLS: Final = kinds_that(Policy, lambda model: model.cells)
FOR_PACKETS: Final = kinds_that(Policy, lambda model: model.packets)
# Policies that decide by the occupancy of the buffer alone. A larger buffer reduces their number of drops.
BY_OCCUPANCY: Final = kinds_that(Policy, lambda model: model.decides in ("by-occupancy", "by-frame"))
