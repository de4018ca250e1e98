"""VBR sources, on and off in turn."""

from pydantic import AliasChoices, Field

from longpipe.scenario.base import Model, Name, PositiveShare, Rate, VbrPeriod, VbrPhase


class OnOff(Model):
    """An end-to-end source of VBR cells: on for a period, then off, from its phase on; no buffer loses its cells."""

    period: VbrPeriod = Field(default="300 ms", description="Time on [time]; ATM Forum/97-0424 section 5.1")
    duty: PositiveShare = Field(
        default=0.5, description="Fraction of the time that it is on; ATM Forum/97-0424 section 5.1"
    )
    phase: VbrPhase = Field(default="0 s", description="When it is on for the first time [time]")
    rate: Rate | None = Field(
        default=None, description="Rate while on [bit/s]; that of its slowest link if absent, ATM Forum/97-0424"
    )


class VbrFlow(OnOff):
    """A VBR source of a graph: its host sends nothing else."""

    name: Name = Field(description="A name of letters, digits, '_', '.', '-'; unique among these")
    from_: Name = Field(
        validation_alias=AliasChoices("from", "from_"), serialization_alias="from", description="The sending host"
    )
    to: Name = Field(description="The receiving host")
    route: tuple[Name, ...] | None = Field(
        default=None, description="Nodes from sender to receiver; fewest hops if absent"
    )
