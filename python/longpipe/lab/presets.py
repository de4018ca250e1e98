"""Presets of the lab: examples, and files of a folder."""

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from longpipe.examples import EXAMPLES, example
from longpipe.lab import beyond
from longpipe.scenario import Scenario
from longpipe.scenario.defaults import fields_of_file

Json = dict[str, Any]


def presets(folder: Path | None) -> list[Json]:
    """Returns the name, group and fields of every preset, in display order; `folder` contains scenario files.

    `core` is the resolved scenario, as JSON text, of a preset that the page cannot resolve itself.
    """
    return [*_examples(), *(_files(folder) if folder is not None else ())]


def _examples() -> Iterator[Json]:
    for name, words in EXAMPLES.items():
        yield {"name": name, "group": "Networks of today and of 1996", "words": words, **_of_text(name, example(name))}


def _files(folder: Path) -> Iterator[Json]:
    for file in sorted(folder.glob("*.toml")):
        text = file.read_text(encoding="utf-8")
        words = " ".join(line.removeprefix("# ") for line in text.splitlines()[:2] if line.startswith("# "))
        yield {"name": file.stem, "group": "Scenarios", "words": words, **_of_text(file.stem, text)}


def _of_text(name: str, text: str) -> Json:
    fields = fields_of_file({"name": name, **tomllib.loads(text)}, name)
    network = fields.get("network", {})
    tables = (network, *network.get("nodes", ()), *network.get("links", ()))
    if all(map(beyond.OF_NETWORK.keys().isdisjoint, tables)):
        return {"fields": fields}
    return {"fields": fields, "core": Scenario(**fields).core_json()}
