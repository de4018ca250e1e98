"""Runs at the ends of the fields' bounds, alone and combined: each prints its results or one line, and divides by no 0."""

import random
import re
from pathlib import Path

import pytest

from commands import run
from longpipe import Scenario, simulate
from longpipe.scenario.reference import Field, all_fields
from thorough import examples

NUMBER = r"-?[\d.]+(?:e[-+]?\d+)?"
# Fields whose upper ends make a run slow, and parts of lists, which `--set` does not address.
LEFT_OUT = re.compile(r"\[|^(groups|flows|duration)|sources$|^traffic\.(rate|count)$|segments$")
BASES = ("fiber", "aqm", "home", "geo", "lan-96", "cellular", "web-and-bulk")


def ends_of(field: Field) -> list[str]:
    """Returns the bounds of a numeric field as texts, with 0 and 1."""
    span = re.match(rf"({NUMBER} ?[\w/%]*) to ({NUMBER} ?[\w/%]*)", field.accepts)
    ends = [] if span is None else [span[1].strip(), span[2].strip()]
    ends += re.findall(rf"(?:at least|at most|greater than|less than|more than) ({NUMBER})", field.accepts)
    return list(dict.fromkeys([*ends, "0", "1"])) if ends or "number" in field.accepts else []


FIELDS = [field for field in all_fields() if not LEFT_OUT.search(field.name) and ends_of(field)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("bases")
    for name in BASES:
        text = Scenario.example(name).with_(duration="50 ms").to_toml()
        (found / f"{name}.toml").write_text(text, encoding="utf-8")
    return found


@pytest.mark.parametrize("number", range(examples(60, 3000)))
def test_run_at_bounds_of_fields_has_results_or_one_error(number: int, folder: Path) -> None:
    draws = random.Random(number)
    settings = []
    for field in draws.sample(FIELDS, draws.choice([1, 1, 2, 3])):
        part = field.name.rpartition(".")[0]
        settings += ["--set", f"{part}={field.kind}"] if field.kind else []
        settings += ["--set", f"{field.name}={draws.choice(ends_of(field))}"]
    if draws.random() < 0.3:
        settings += ["--set", f"tcp.mss={draws.choice(['1 B', '24 B', '536 B'])}"]
    output = draws.choice([[], ["--json", "-"]])
    done = run("run", folder / f"{draws.choice(BASES)}.toml", *settings, "--no-store", *output)
    assert "run failed" not in done.stderr, settings
    assert done.returncode == 0 or "error: " in done.stderr, settings


def test_packets_with_length_zero_in_cake_are_unlimited() -> None:
    scenario = Scenario.from_toml("""
framing = "ip"
duration = "1 s"
tcp = { mss = "24 B" }
network = { kind = "dumbbell", sources = 1, trunk_rate = "10 Mbit/s" }
switch = { buffer = "30 packets", policy = { kind = "cake", rate = "1 Mbit/s", overhead = -64 } }
""")

    assert 0 < simulate(scenario, seed=1).efficiency <= 1
