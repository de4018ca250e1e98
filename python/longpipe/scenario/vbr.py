"""On/off sources of VBR cells."""

from typing import Annotated

from pydantic import AliasChoices, Field

from longpipe.scenario.base import LATER, Model, Name, PositiveShare, Rate, VbrPeriod, VbrPhase
from longpipe.scenario.datagrams import FixedTimes, Times


class OnOff(Model):
    """A source of VBR cells that alternately sends and pauses, beginning at its phase; its cells are never dropped."""

    period: VbrPeriod = Field(
        default="300 ms", description="Mean duration of a burst [time]; ATM Forum/97-0424 section 5.1"
    )
    duty: PositiveShare = Field(
        default=0.5, description="Fraction of the time during which the source sends; ATM Forum/97-0424 section 5.1"
    )
    times: Annotated[Times, LATER] = Field(
        default=FixedTimes.unchecked(),
        description="Distribution of bursts and pauses: fixed, exponential (a Markov chain) or pareto",
    )
    phase: VbrPhase = Field(default="0 s", description="Start of the first burst [time]")
    rate: Rate | None = Field(
        default=None,
        description="Rate within a burst [bit/s]; defaults to the rate of the slowest link on the "
        "path; ATM Forum/97-0424",
    )


class VbrFlow(OnOff):
    """A VBR source of a graph, with its own host."""

    name: Name = Field(description="A name of letters, digits, '_', '.', '-'; unique among these")
    from_: Name = Field(
        validation_alias=AliasChoices("from", "from_"), serialization_alias="from", description="The sending host"
    )
    to: Name = Field(description="The receiving host")
    route: tuple[Name, ...] | None = Field(
        default=None, description="Nodes from sender to receiver; fewest hops if absent"
    )
