"""The name of a field in the core is determined by the field's type."""

from typing import Annotated, Literal

import pytest
from pydantic import Field

from longpipe.scenario.base import (
    ASCENDING,
    LATER,
    Becomes,
    Delay,
    FileSize,
    Instant,
    Model,
    Rate,
    Share,
    quantity,
)
from longpipe.scenario.core import core_fields
from longpipe.units import SEGMENTS, SIZE, TICKS


class Inner(Model):
    kind: Literal["inner"] = "inner"
    wait: Delay = "1 ms"


class Part(Model):
    delay: Delay = "5 ms"
    rate: Rate = "2 Mbit/s"
    size: FileSize = "1 KiB"
    segments: Annotated[str, quantity(SEGMENTS, "1 segment", "9 segments")] = "3 segments"
    ticks: Annotated[str, quantity(TICKS, "1 tick", "9 ticks")] = "2 ticks"
    threshold: Annotated[str, quantity(SIZE, "1 B", "1 GB", unlimited=True)] = "unlimited"
    burst: Annotated[str, quantity(SEGMENTS, "1 segment", "9 segments", suffix="", unlimited=True)] = "4 segments"
    share: Share = 0.25
    shares: tuple[Share, ...] = (0.1, 0.9)
    instants: Annotated[tuple[Instant, ...], ASCENDING] = ("2 s", "1 s", "2 s")
    numbers: Annotated[tuple[int, ...], ASCENDING] = (3, 1, 3)
    limit: Rate | None = None
    from_: Instant = Field(default="1 us", serialization_alias="from")
    name: str = "x"
    ratio: float = 0.5
    inner: Inner = Inner()
    others: tuple[Inner, ...] = (Inner(), Inner(wait="2 ms"))
    kilobyte: Annotated[int, Becomes("bytes", int)] = 1024


def test_core_quantities_are_whole_numbers_of_their_unit() -> None:
    assert core_fields(Part()) == {
        "delay_ps": 5 * 10**9,
        "rate_bps": 2 * 10**6,
        "size_bytes": 1024,
        # A name that equals its unit has no unit appended.
        "segments": 3,
        "ticks": 2,
        "threshold_bytes": None,
        "burst": 4,
        "share_ppb": 250_000_000,
        "shares_ppb": [100_000_000, 900_000_000],
        "instants_ps": [10**12, 2 * 10**12],
        "numbers": [1, 3],
        "limit_bps": None,
        "from_ps": 10**6,
        "name": "x",
        "ratio": 0.5,
        "inner": {"kind": "inner", "wait_ps": 10**9},
        "others": [{"kind": "inner", "wait_ps": 10**9}, {"kind": "inner", "wait_ps": 2 * 10**9}],
        "kilobyte_bytes": 1024,
    }


def test_optional_value_is_converted_if_present() -> None:
    assert core_fields(Part(limit="3 kbit/s", threshold="2 KB"))["limit_bps"] == 3000
    assert core_fields(Part(threshold="2 KB"))["threshold_bytes"] == 2000


def test_newer_field_is_written_only_if_not_default() -> None:
    class Grown(Inner):
        extra: Annotated[Delay, LATER] = "0 s"

    assert core_fields(Grown()) == core_fields(Inner())
    assert core_fields(Grown(extra="1 ms")) == {**core_fields(Inner()), "extra_ps": 10**9}


@pytest.mark.parametrize("without", [("delay",), ("from_", "inner")])
def test_fields_can_be_left_out(without: tuple[str, ...]) -> None:
    left = {"delay": "delay_ps", "from_": "from_ps", "inner": "inner"}
    found = core_fields(Part(), without)
    assert not {left[name] for name in without} & set(found)
    assert len(found) == len(Part.model_fields) - len(without)
