"""Presets of the lab: scenarios of the papers."""

import tomllib
from collections.abc import Iterator, Mapping
from typing import Any, Final

from longpipe.scenario import Scenario
from longpipe_evidence.papers.buf_97 import PAPER as BUF_97
from longpipe_evidence.papers.frr_96 import PAPER as FRR_96
from longpipe_evidence.papers.gr_97 import PAPER as GR_97
from longpipe_evidence.papers.lbd_01.transfers import Transfer
from longpipe_evidence.papers.replicated import ReplicatedPaper
from longpipe_evidence.papers.www_98 import PAPER as WWW_98

Json = dict[str, Any]

# Experiments of each paper that become presets, selected by the levels of the paper's main factors.
PICKED: Final[Mapping[str, tuple[ReplicatedPaper, tuple[Json, ...]]]] = {
    "frr-96": (
        FRR_96,
        tuple(
            {"network": network, "sources": sources, "buffer_cells": buffer, "tcp": "reno", "policy": policy}
            for network, sources, buffer in (("lan", 15, 1000), ("wan", 15, 12000))
            for policy in ("tail-drop", "epd", "selective-drop", "fba")
        ),
    ),
    "gr-97": (
        GR_97,
        tuple(
            {"network": "wan", "sources": 15, "buffer_cells": 12000, "tcp": "sack", "guaranteed_rate": rate}
            for rate in (0.0, 0.1, 0.5)
        ),
    ),
    "buf-97": (
        BUF_97,
        tuple(
            {"network": network, "sources": sources, "buffer_rtt": rtt}
            for network, sources in (("leo", 15), ("multi-leo", 5), ("geo", 5))
            for rtt in (0.5, 1.0)
        ),
    ),
    "www-98": (
        WWW_98,
        tuple(
            {"network": network, "tcp": "sack", "policy": "selective-drop", "buffer_bdp": 1.0}
            for network in ("wan", "meo", "geo")
        ),
    ),
}


def presets() -> Iterator[Json]:
    """Yields the name, group, words and fields of every preset, in display order."""
    for paper, (paper_module, wanted) in PICKED.items():
        experiments = paper_module.experiments()
        for levels in wanted:
            experiment = next(candidate for candidate in experiments if levels.items() <= candidate.factors.items())
            words = ", ".join(f"{name.replace('_', ' ')} {level}" for name, level in levels.items())
            name = "-".join([paper, *(str(level).replace(".", "") for level in levels.values())])
            yield _of_paper(paper, name, words, experiment.replicated)
    for w_star, tcp in ((20, "reno"), (320, "reno"), (320, "newreno"), (320, "sack")):
        scenario = Transfer(w_star, 1.0, tcp).scenario(duration="100 s")
        words = f"one transfer with {tcp}, a BDP of {w_star} packets, a buffer of 1 BDP"
        yield _of_paper("lbd-01", f"lbd-01-{w_star}-{tcp}", words, scenario)


def _of_paper(paper: str, name: str, words: str, scenario: Scenario) -> Json:
    named = scenario.with_(name=name)
    default = Scenario(defaults=named.defaults)
    fields = {"defaults": named.defaults, **_changed(tomllib.loads(named.to_toml()), tomllib.loads(default.to_toml()))}
    # A default may depend on other fields.
    if Scenario(**fields).digest() != named.digest():
        raise ValueError(f"{name}: its changed fields give another scenario")
    return {"name": name, "group": f"Paper {paper}", "words": words, "fields": fields}


def _changed(table: Json, default: Json) -> Json:
    """Returns the entries of a table that differ from its default, which has the same kind."""
    changed: Json = {}
    for name, value in table.items():
        normal = default.get(name)
        if value == normal and name != "kind":
            continue
        if isinstance(value, dict) and isinstance(normal, dict) and value.get("kind") == normal.get("kind"):
            changed[name] = _changed(value, normal)
        else:
            changed[name] = value
    return changed
