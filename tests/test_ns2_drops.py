import subprocess
from itertools import product
from pathlib import Path
from random import Random
from typing import Any, get_args

import numpy as np
import pandas as pd
import pytest

from commands import run
from longpipe import simulate
from longpipe.units import SIZE
from longpipe_evidence.validate import ns2, ns2_figures
from longpipe_evidence.validate.ns2 import available
from longpipe_evidence.validate.ns2_drops import Comparison, DropCase, Flavor, compare
from longpipe_evidence.validate.ns2_rules import Rule, explain
from thorough import one_in

pytestmark = pytest.mark.skipif(not available(), reason="ns-2 is not installed (Debian's package ns2)")

FLAVORS = get_args(Flavor)

# One to six losses in a window, at its start, middle and end, adjacent or apart; and losses of retransmissions.
DROPS: list[tuple[int, ...]] = [
    (), (0,), (1,), (7,), (14,), (30,), (60,), (1, 2), (5, 6), (14, 28), (14, 30), (20, 21), (29, 30), (14, 26, 28),
    (20, 21, 22), (15, 22, 29), (14, 20, 26, 28), (20, 21, 22, 23), (15, 19, 23, 27), (31, 34, 37, 40, 43),
    (31, 32, 33, 34, 35, 36), (40, 60, 80), (30, 100), (60, 130),
]  # fmt: skip


def drops(**case: Any) -> Comparison:  # noqa: ANN401 - fields of any type
    return compare(DropCase(**case))


# The sample contains all flavors and all drops, because four and the number of flavors have no common divisor.
@pytest.mark.parametrize(
    ("drop", "tcp"),
    one_in(4, list(product(DROPS, FLAVORS))),
    ids=lambda part: part if isinstance(part, str) else ",".join(map(str, part)) or "none",
)
def test_ns2_sends_the_same_segments_in_the_same_order(tcp: str, drop: tuple[int, ...]) -> None:
    comparison = drops(tcp=tcp, drop=drop)
    assert comparison.same_order, comparison.sent.iloc[comparison.first_difference :]
    assert comparison.sent["longpipe_s"].notna().all()
    # SACK blocks make ACKs up to 28 bytes longer than ns-2's.
    assert comparison.largest_lag_s <= (2e-4 if tcp == "sack" else 2e-6), f"{comparison.timeouts} timeouts"


# The path and the drops of ns-2's validation suite (test-suite-tcpVariants.tcl). Without ns-2's guard, Tahoe repeatedly
# takes the last two drops for further losses; test_ns2_suite.py contains ns-2's own traces of these cases.
SUITE: dict[str, Any] = {"rate": "800 kbit/s", "round_trip": "200 ms", "window": 28, "queue": 8, "mss": "960 B"}
SUITE_DROPS = [(14,), (14, 28), (14, 26, 28), (14, 24, 26, 28), (11, 12, 13, 14, 16), (11, 12, 13, 14, 16, 17, 18, 19)]


@pytest.mark.parametrize("guard", [False, True])
@pytest.mark.parametrize("path", [{}, SUITE], ids=["default", "suite"])
@pytest.mark.parametrize("drop", one_in(6, [*SUITE_DROPS, *DROPS]), ids=lambda drop: ",".join(map(str, drop)) or "none")
def test_tahoe_equals_ns2_with_and_without_its_guard(
    drop: tuple[int, ...], path: dict[str, Any], *, guard: bool
) -> None:
    comparison = drops(tcp="tahoe", drop=drop, guard=guard, **path)
    assert comparison.same_order, comparison.sent.iloc[comparison.first_difference :]
    assert comparison.largest_lag_s < 2e-6


@pytest.mark.parametrize(
    ("drop", "tcp"),
    one_in(2, list(product(SUITE_DROPS, ["reno", "newreno", "sack"]))),
    ids=lambda part: part if isinstance(part, str) else ",".join(map(str, part)),
)
def test_drops_of_ns2s_test_suite_agree(tcp: str, drop: tuple[int, ...]) -> None:
    assert drops(tcp=tcp, drop=drop, guard=True, hoe=False, **SUITE).same_order


def test_tahoe_is_guarded_by_default_as_in_ns2() -> None:
    many = {"tcp": "tahoe", "drop": SUITE_DROPS[-2], **SUITE}
    default, guarded, free = (drops(**many, guard=guard).sent["ns2_s"].max() for guard in (None, True, False))
    assert default == guarded
    assert free - guarded > 1


@pytest.mark.parametrize(("seed", "tcp"), one_in(4, list(product(range(12), FLAVORS))))
def test_ns2_agrees_on_drops_chosen_at_random(tcp: str, seed: int) -> None:
    # The guard is on, because ns-2's window could otherwise fall below two segments. The clock is fine, to avoid races
    # between timers.
    random = Random(seed)
    first, span = random.randrange(120), random.choice([8, 20, 60, 150])
    drop = tuple(random.randrange(first, first + span) for _ in range(random.randint(1, 6)))
    options = {"rate": random.choice(["1.5 Mbit/s", "3.3 Mbit/s"]), "round_trip": random.choice(["30 ms", "100 ms"])}
    window = 400 if tcp == "newreno" else random.choice([10, 30, 60, 100])
    comparison = drops(
        tcp=tcp, drop=drop, guard=True, window=window, segments=400, tick="1 ms", pipe="outstanding", **options
    )
    assert comparison.same_order, comparison.sent.iloc[comparison.first_difference :]


OPTIONS: list[dict[str, Any]] = [
    {"hoe": False},
    {"hoe": False, "guard": True},
    {"hoe": False, "deflation": True},
    {"timer_restart": "first"},
    {"hoe": False, "guard": True, "timer_restart": "first"},
]
SEVERAL: list[tuple[int, ...]] = [(14, 28), (14, 20, 26, 28), (20, 21, 22, 23), (31, 34, 37, 40, 43)]


# Each option and each drop occurs in the sample.
@pytest.mark.parametrize(("drop", "options"), one_in(3, list(product(SEVERAL, OPTIONS))), ids=str)
def test_options_of_newreno_equal_those_of_ns2(options: dict[str, Any], drop: tuple[int, ...]) -> None:
    assert drops(tcp="newreno", drop=drop, **options).same_order


@pytest.mark.parametrize(("queue", "tcp"), one_in(3, list(product([5, 10, 20, 40], FLAVORS))))
def test_ns2_overflows_at_the_same_packets(tcp: str, queue: int) -> None:
    assert drops(tcp=tcp, queue=queue, hoe=False, pipe="outstanding", tick="1 ms").same_order


# Rules that differ in ns-2, each with a case, and with the option that makes both agree.
RULES: list[tuple[Rule, dict[str, Any], dict[str, Any]]] = [
    (Rule.SMALL_WINDOW, {"tcp": "reno", "drop": (30, 45, 61)}, {"guard": True}),
    (
        Rule.BEYOND_WINDOW,
        {"tcp": "newreno", "drop": (50, 52, 60), "window": 64, "queue": 12, "rate": "10 Mbit/s"},
        {"hoe": False},
    ),
    (Rule.BEYOND_END, {"tcp": "newreno", "drop": (150,)}, {"hoe": False}),
    (
        Rule.DEFLATED_WINDOW,
        {"tcp": "newreno", "hoe": False, "deflation": True, "guard": True, "window": 8, "segments": 200}
        | {"drop": (95, 98, 142, 149, 161, 164, 182), "queue": 25, "round_trip": "250 ms", "mss": "9180 B"},
        {"deflation": False},
    ),
    (
        Rule.INFLATES_ON,
        {"tcp": "newreno", "hoe": False, "guard": True, "drop": (16, 19, 24, 26, 27, 34), "window": 300}
        | {"queue": 25, "rate": "10 Mbit/s", "tick": "10 ms"},
        {"guard": False},
    ),
    (Rule.PIPE_BEYOND_WINDOW, {"tcp": "sack", "drop": (60, 61, 62), "window": 8}, {"pipe": "outstanding"}),
    (
        Rule.TAHOE_COUNTS_ON,
        {"tcp": "tahoe", "drop": (46,), "window": 32, "round_trip": "20 ms", "mss": "1460 B", "tick": "10 ms"}
        | {"guard": False},
        {"guard": True},
    ),
    (Rule.SACK_DEAF, {"tcp": "sack", "drop": (30, 61), "guard": False}, {"guard": True}),
]


@pytest.mark.parametrize(
    ("rule", "case", "remedy"), RULES, ids=lambda value: value.name if isinstance(value, Rule) else ""
)
def test_a_rule_of_ns2_explains_the_difference_and_its_remedy_removes_it(
    rule: Rule, case: dict[str, Any], remedy: dict[str, Any]
) -> None:
    comparison = drops(**case)
    assert not comparison.same_order
    assert explain(comparison) is rule
    assert rule.remedy
    assert drops(**case | remedy).same_order


@pytest.mark.parametrize(
    ("rule", "case"),
    [
        (
            Rule.RACE,
            {"tcp": "reno", "drop": (38,), "mss": "1460 B", "round_trip": "60 ms", "tick": "1 ms"},
        ),
        (
            Rule.SENDS_TWICE,
            {"tcp": "newreno", "hoe": False, "drop": (136, 271), "window": 300, "queue": 25, "rate": "45 Mbit/s"}
            | {"mss": "9180 B", "tick": "1 ms", "timer_restart": "first"},
        ),
        (
            Rule.PIPE_WAITS,
            {"tcp": "sack", "drop": (54, 58, 59, 68, 72, 85, 93), "window": 16, "queue": 3, "rate": "10 Mbit/s"}
            | {"round_trip": "3 ms", "mss": "9180 B", "tick": "1 ms"},
        ),
    ],
    ids=lambda value: value.name if isinstance(value, Rule) else "",
)
def test_a_rule_of_ns2_without_remedy_explains_the_difference(rule: Rule, case: dict[str, Any]) -> None:
    comparison = drops(**case)
    assert not comparison.same_order
    assert explain(comparison) is rule


def test_a_rule_of_ns2_explains_instants_that_differ_in_the_same_order() -> None:
    comparison = drops(tcp="vanilla", drop=tuple(range(30, 39)), window=1)
    assert comparison.same_order
    assert comparison.largest_lag_s == pytest.approx(64.0, abs=1e-3)
    assert explain(comparison) is Rule.BACKOFF


def test_every_difference_of_cases_chosen_at_random_has_its_rule(tmp_path: Path) -> None:
    path = tmp_path / "cases.csv"
    shown = command("--cases", "4", "--seed", "104", "--csv", str(path), name="ns2-random")
    assert shown.returncode == 0, shown.stdout + shown.stderr
    cases = pd.read_csv(path)
    assert cases.groupby("tcp").size().to_dict() == dict.fromkeys(FLAVORS, 4)
    differ = cases["first_difference"].notna()
    assert 0 < differ.sum() < len(cases) / 2
    assert (cases["rule"].notna() == differ).all()
    shown = command("--tcp", "renoo", name="ns2-random")
    assert shown.returncode == 2
    assert "did you mean 'reno'?" in shown.stderr


def command(*arguments: str, name: str = "ns2-drops") -> subprocess.CompletedProcess[str]:
    return run("validate", name, *arguments)


def test_the_command_prints_both_sequences_side_by_side(tmp_path: Path) -> None:
    path = tmp_path / "sent.csv"
    shown = command("--tcp", "sack", "--drop", "14,28", "--segments", "40", "--csv", str(path))
    assert shown.returncode == 0, shown.stderr
    assert "   29    0.5218       14*  0.5217      14*" in shown.stdout
    assert "same order: 42 segments" in shown.stdout
    assert len(path.read_text().splitlines()) == 43


def test_figure_shows_both_sequences_and_their_first_difference() -> None:
    figure = ns2_figures.drops(drops(tcp="reno", drop=(14, 28), segments=40))
    lines = {str(line.get_label()): len(np.asarray(line.get_xdata())) for line in figure.axes[0].get_lines()}
    assert lines == {"sent by ns-2": 42, "sent by longpipe": 42, "dropped": 2}
    assert figure.get_suptitle() == "reno, dropping 14, 28: the same order"
    figure = ns2_figures.drops(drops(tcp="reno", drop=(30, 45, 61)))
    assert figure.axes[0].get_lines()[-1].get_label() == "orders diverge"
    assert figure.get_suptitle() == "reno, dropping 30, 45, 61: order differs from number 115 on"


def test_the_command_names_the_rule_behind_a_difference() -> None:
    shown = command("--tcp", "reno", "--drop", "30,45,61")
    assert shown.returncode == 1
    assert "order differs from number 115 on" in shown.stdout
    rule = Rule.SMALL_WINDOW
    assert f"ns-2: {rule.text}; not with {rule.remedy}" in " ".join(shown.stdout.split())


def test_ns2_drops_rejects_invalid_options() -> None:
    shown = command("--tcp", "sack", "--drop", "14,x")
    assert (shown.returncode, shown.stderr) == (2, "error: --drop: '14,x'; needs packet numbers, as in 14,28\n")
    shown = command("--tcp", "renoo")
    assert shown.returncode == 2
    assert "did you mean 'reno'?" in shown.stderr


# This version of ns-2 lacks limited transmit, which a window of three segments needs.
@pytest.mark.parametrize("drop", one_in(3, [drop for drop in DROPS if min(drop, default=1) != 1]), ids=str)
def test_fack_retransmits_when_ns2s_fack_does(drop: tuple[int, ...]) -> None:
    case = DropCase(tcp="sack", drop=drop)
    theirs = ns2.run(["Agent/TCP/Fack", *case.arguments()[1:]]).sent
    scenario = case.scenario().with_(**{"tcp.recovery": {"kind": "rfc6675", "fack": True}})
    trace = simulate(scenario).traces["sequence"]
    ours = trace[trace["event"] == 0]
    again = ours[ours["retransmission"]].iloc[0]
    assert again["sequence_bytes"] == drop[0] * SIZE.parse(case.mss)
    # SACK blocks make ACKs up to 28 bytes longer than ns-2's.
    assert again["time_s"] == pytest.approx(theirs[theirs["segment"].duplicated()]["s"].iloc[0], abs=2e-4)
