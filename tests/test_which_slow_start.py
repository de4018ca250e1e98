"""The numbers of the page on slow starts are those of its scenario."""

import re
from typing import Any

import pytest

from documented import DOCS
from longpipe import Scenario, simulate

PAGE = DOCS / "how-to" / "which-slow-start.md"


def row(rtt: str, buffer: str, start: str) -> tuple[float, float]:
    """Returns the time [s] and the share of resent segments [%] of a row of the page's table."""
    pattern = rf"\| {rtt} \| {buffer} \| {start} \| ([\d.]+) ± [\d.]+ \| ([\d.]+) ±"
    time_s, resent = re.findall(pattern, PAGE.read_text(encoding="utf-8"))[0]
    return float(time_s), float(resent)


@pytest.mark.parametrize(
    ("start", "tcp"),
    [
        ("search-4", {"congestion": {"kind": "cubic", "hystart": "search-4"}}),
        ("rapid", {"rapid_start": "draft"}),
    ],
)
def test_rows_of_the_page_are_those_of_its_study(start: str, tcp: dict[str, Any]) -> None:
    (toml,) = re.findall(r"```toml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    changes = {"tcp": {"profile": "linux-6", **tcp}, "switch.buffer": "4 BDP", "network.trunk_delay": "50 ms"}
    scenario = Scenario.from_toml(toml).with_(**changes)
    files = [simulate(scenario, seed).flows.to_dict("records")[0] for seed in range(1, 6)]
    times_s = [file["completion_s"] - file["start_s"] for file in files]
    resent = [100 * file["retransmitted_segments"] / file["sent_segments"] for file in files]
    shown_s, shown_resent = row("100 ms", "4 BDP", start)
    assert sum(times_s) / 5 == pytest.approx(shown_s, abs=0.01)
    assert sum(resent) / 5 == pytest.approx(shown_resent, abs=0.01)
