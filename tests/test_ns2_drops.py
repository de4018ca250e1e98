import os
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any, get_args

import pytest

from longpipe.scenario.tcp import Recovery
from longpipe.validate.ns2 import available
from longpipe.validate.ns2_drops import Comparison, DropCase, compare

pytestmark = pytest.mark.skipif(not available(), reason="ns-2 is not installed (Debian's package ns2)")

FLAVORS = get_args(Recovery)

# One to six losses in a window, at its start, middle and end; next to each other and apart; losses of what is resent.
DROPS: list[tuple[int, ...]] = [
    (), (0,), (1,), (7,), (14,), (30,), (60,), (1, 2), (5, 6), (14, 28), (14, 30), (20, 21), (29, 30), (14, 26, 28),
    (20, 21, 22), (15, 22, 29), (14, 20, 26, 28), (20, 21, 22, 23), (15, 19, 23, 27), (31, 34, 37, 40, 43),
    (31, 32, 33, 34, 35, 36), (40, 60, 80), (30, 100), (60, 130),
]  # fmt: skip


def drops(**case: Any) -> Comparison:  # noqa: ANN401 - fields of every type
    return compare(DropCase(**case))


@pytest.mark.parametrize("tcp", FLAVORS)
@pytest.mark.parametrize("drop", DROPS, ids=lambda drop: ",".join(map(str, drop)) or "none")
def test_ns2_sends_the_same_segments_in_the_same_order(tcp: str, drop: tuple[int, ...]) -> None:
    comparison = drops(tcp=tcp, drop=drop)
    assert comparison.same_order, comparison.sent.iloc[comparison.first_difference :]
    assert comparison.sent["longpipe_s"].notna().all()
    # SACK blocks make ACKs up to 28 bytes longer than ns-2's.
    assert comparison.largest_lag_s <= (2e-4 if tcp == "sack" else 2e-6), f"{comparison.timeouts} timeouts"


@pytest.mark.parametrize("tcp", ["vanilla", "reno", "newreno", "sack"])
@pytest.mark.parametrize("seed", range(12))
def test_ns2_agrees_on_drops_chosen_at_random(tcp: str, seed: int) -> None:
    # A guard, for without one ns-2 lets the window fall below two segments; a fine clock, against races of timers.
    random = Random(seed)
    first, span = random.randrange(120), random.choice([8, 20, 60, 150])
    drop = tuple(random.randrange(first, first + span) for _ in range(random.randint(1, 6)))
    options = {"rate": random.choice(["1.5 Mbit/s", "3.3 Mbit/s"]), "round_trip": random.choice(["30 ms", "100 ms"])}
    window = 400 if tcp == "newreno" else random.choice([10, 30, 60, 100])
    comparison = drops(
        tcp=tcp, drop=drop, guard=True, window=window, segments=400, tick="1 ms", pipe="outstanding", **options
    )
    assert comparison.same_order, comparison.sent.iloc[comparison.first_difference :]


@pytest.mark.parametrize(
    "options",
    [
        {"hoe": False},
        {"hoe": False, "guard": True},
        {"hoe": False, "deflation": True},
        {"timer_restart": "first"},
        {"hoe": False, "guard": True, "timer_restart": "first"},
    ],
    ids=str,
)
@pytest.mark.parametrize("drop", [(14, 28), (14, 20, 26, 28), (20, 21, 22, 23), (31, 34, 37, 40, 43)], ids=str)
def test_options_of_newreno_mean_the_same_in_ns2(options: dict[str, Any], drop: tuple[int, ...]) -> None:
    assert drops(tcp="newreno", drop=drop, **options).same_order


@pytest.mark.parametrize("queue", [5, 10, 20, 40])
@pytest.mark.parametrize("tcp", FLAVORS)
def test_ns2_overflows_at_the_same_packets(tcp: str, queue: int) -> None:
    assert drops(tcp=tcp, queue=queue, hoe=False, pipe="outstanding", tick="1 ms").same_order


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    longpipe = str(Path(sys.executable).with_name("longpipe"))
    environment = {**os.environ, "COLUMNS": "80", "NO_COLOR": "1", "TERM": "dumb"}
    return subprocess.run(
        [longpipe, "validate", "ns2-drops", *arguments], capture_output=True, text=True, env=environment, check=False
    )


def test_the_command_prints_both_sequences_side_by_side(tmp_path: Path) -> None:
    path = tmp_path / "sent.csv"
    shown = command("--tcp", "sack", "--drop", "14,28", "--segments", "40", "--csv", str(path))
    assert shown.returncode == 0, shown.stderr
    assert "   29    0.5218       14*  0.5217      14*" in shown.stdout
    assert "same order: 42 segments" in shown.stdout
    assert len(path.read_text().splitlines()) == 43


def test_the_command_refuses_bad_input() -> None:
    shown = command("--tcp", "sack", "--drop", "14,x")
    assert (shown.returncode, shown.stderr) == (2, "error: --drop: '14,x'; needs packet numbers, as in 14,28\n")
    shown = command("--tcp", "renoo")
    assert shown.returncode == 2
    assert "did you mean 'reno'?" in shown.stderr
