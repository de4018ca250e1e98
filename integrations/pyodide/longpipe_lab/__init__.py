"""longpipe for notebooks in the browser (Pyodide and JupyterLite): the engine of the lab.

    import longpipe_lab

    await longpipe_lab.load()
    result = longpipe_lab.simulate({"framing": "ip", "tcp": {"recovery": "sack"}}, seed=1)
    result.metrics["efficiency"], result.state_hash

The package has no dependencies, and runs only in Pyodide. Results are bit-identical to those of `longpipe.simulate`;
invalid scenarios are rejected with the error messages of `longpipe run`. Time-varying paths, proxies and controllers in
Python need longpipe itself.
"""

from dataclasses import dataclass
from html import escape
from importlib import resources
from typing import Any

__all__ = ["Result", "ScenarioError", "load", "simulate"]

LARGEST_SEED = 2**64 - 1

_engine: Any = None


class ScenarioError(ValueError):
    """A scenario that cannot be run; its text has one line for each problem."""


@dataclass(frozen=True)
class Result:
    """Counters and metrics of a run. Tables are dicts of columns, with the names of `longpipe run --csv`."""

    state_hash: str
    metrics: dict[str, float]
    flows: dict[str, list[Any]]
    ports: dict[str, list[Any]]

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr><th>{escape(name)}</th><td>{value:.6g}</td></tr>" for name, value in self.metrics.items())
        return f"<table>{rows}<tr><th>state hash</th><td><code>{self.state_hash}</code></td></tr></table>"


async def load() -> None:
    """Loads the engine. Must be awaited once before the first run."""
    global _engine
    from js import URL, Blob, Object
    from pyodide.code import run_js
    from pyodide.ffi import to_js

    text = resources.files(__name__).joinpath("engine.mjs").read_text(encoding="utf-8")
    kind = to_js({"type": "text/javascript"}, dict_converter=Object.fromEntries)
    address = URL.createObjectURL(Blob.new(to_js([text]), kind))
    try:
        engine = await run_js("(address) => import(address)")(address)
    finally:
        URL.revokeObjectURL(address)
    await engine.load()
    _engine = engine


def simulate(scenario: str | dict[str, Any], seed: int = 1) -> Result:
    """Runs a scenario: the text of a TOML file, or its fields. Equal input gives equal bits on all machines.

    Raises ScenarioError for invalid input, and RuntimeError before `load()`.
    """
    from js import Object
    from pyodide.ffi import to_js

    if _engine is None:
        raise RuntimeError("longpipe_lab: the engine is not loaded; needs `await longpipe_lab.load()` before")
    if not 0 <= seed <= LARGEST_SEED:
        raise ScenarioError(f"seed: {seed}; needs a whole number from 0 to {LARGEST_SEED}")
    given = scenario if isinstance(scenario, str) else to_js(scenario, dict_converter=Object.fromEntries)
    found = _engine.run(given, str(seed))
    if problems := found.problems.to_py():
        raise ScenarioError("\n".join(problems))
    return Result(
        found.state_hash, dict(found.metrics.to_py()), _table(found.flows.to_py()), _table(found.ports.to_py())
    )


def _table(columns: dict[str, Any]) -> dict[str, list[Any]]:
    return {name: list(column) for name, column in columns.items()}
