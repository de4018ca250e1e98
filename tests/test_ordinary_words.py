"""Everyday words as arguments of `longpipe fields`: the answer names a field, or says that there is none."""

import re
from fnmatch import fnmatchcase

import pytest
from typer.testing import CliRunner

from longpipe.cli import app
from longpipe.cli.ordinary import ELSEWHERE, FIELDS
from longpipe.scenario.reference import all_fields


def listed(word: str) -> list[str]:
    done = CliRunner().invoke(app, ["fields", word])
    assert done.exit_code == 0, done.output
    return [field.split()[0] for field in done.output.split("\n\n")]


@pytest.mark.parametrize(
    ("word", "field"),
    [
        ("bandwidth", "network.trunk_rate"),
        ("Latency", "network.trunk_delay"),
        ("jitter", "network.send_jitter"),
        ("segment-size", "tcp.mss"),
        ("mtu", "tcp.mss"),
        ("mtu", "network.conditioners.mtu"),
        ("policer", "network.conditioners.rate"),
        ("aqm", "switch.policy"),
        ("handover", "network.path.outages.every"),
        ("udp", "traffic.rate"),
        ("quic", "traffic.stack"),
        ("spurious", "tcp.recovery.undo"),
        ("warm_up", "warm_up"),
        ("warm-up", "warm_up"),
        ("steady-state", "warm_up"),
    ],
)
def test_a_word_lists_the_fields_that_it_means(word: str, field: str) -> None:
    assert field in listed(word)


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("wred", "a queue that longpipe does not have"),
        ("http3", "a protocol that longpipe does not have"),
        ("seeds", "no field but an option"),
    ],
)
def test_word_without_a_field_has_an_explanation(word: str, said: str) -> None:
    done = CliRunner().invoke(app, ["fields", word])
    assert done.exit_code != 0
    assert said in str(done.exception)


def test_every_pattern_of_ordinary_words_matches_a_field() -> None:
    known = all_fields()
    for word, patterns in FIELDS.items():
        assert all(any(fnmatchcase(field.name, one) for field in known) for one in patterns), word
    names = {word for field in known for word in re.findall(r"[a-z0-9]+", f"{field.name} {field.kind}")}
    assert not names & ELSEWHERE.keys()
    for word in names & FIELDS.keys():
        assert any(word not in pattern for pattern in FIELDS[word]), word
