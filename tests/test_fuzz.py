"""Mutated files of every format (a sample of `make fuzz`): no reader hangs, and each error is one line long."""

import random
from pathlib import Path

import pytest

from formats import FORMATS, Format
from fuzz import Tally, fuzz, one, wrong
from longpipe.errors import ScenarioError
from mutations import ALL, mutated
from thorough import examples

CASES = examples(50, 200)
# The seed differs from that of `make fuzz`, so that more files are covered.
SEED = 2


@pytest.mark.parametrize("kind", FORMATS, ids=lambda kind: kind.name)
def test_mutated_files_are_read_or_refused_in_one_line(kind: Format) -> None:
    found = fuzz(kind, CASES, SEED)
    assert found.failures == []
    assert found.read >= len(kind.seeds)


@pytest.mark.parametrize("kind", FORMATS, ids=lambda kind: kind.name)
def test_each_seed_is_read(kind: Format) -> None:
    found = fuzz(kind, len(kind.seeds), SEED)
    assert (found.read, found.failures) == (len(kind.seeds), [])


def test_fuzzer_detects_forbidden_behavior_of_a_reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def hangs(_file: Path) -> None:
        while True:
            pass

    def fails(_file: Path) -> None:
        raise RecursionError("deep")

    def says(_file: Path) -> None:
        raise ScenarioError("what is this")

    file = tmp_path / "a"
    assert one(Format("a", (), "", fails), b"", file, Tally()) == "RecursionError: deep"
    assert one(Format("a", (), "", says), b"", file, Tally()) == "neither file nor field: 'what is this'"
    assert wrong(f"{file}:2: a\nb", file) == "not one line"
    assert wrong(f"{file}:2: " + "a" * 1000, file) == "long"
    assert wrong("network.group[0].tcp.mss: 1", file) is None
    monkeypatch.setattr("fuzz.CPU_S", 0.2)
    assert str(one(Format("a", (), "", hangs), b"", file, Tally())).startswith("slow: ")


def test_every_mutation_changes_something_and_repeats() -> None:
    seed = b"time,rate\n0,1\n1,2\n"
    for mutation in set(ALL):
        assert any(mutation(seed, random.Random(number)) != seed for number in range(20)), mutation
    assert mutated(seed, random.Random(1), [seed]) == mutated(seed, random.Random(1), [seed])
