"""Runs senders over the standing scenarios of `longpipe ci` and writes their tables to docs/stacks-compared.md.

Senders are named as in `longpipe ci`. The text of the page before the first table is kept. Runs are kept in the store,
so a further sender does not repeat the others. Run with:

    .venv/bin/python benches/stacks_compared.py SENDER ...
"""

import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Final

from longpipe.analysis.intervals import estimate
from longpipe.ci.measured import DELAY, RESENT, TIME, SenderRun
from longpipe.ci.plan import STANDING, RegressionPlan, size_bytes
from longpipe.ci.runs import runs_of
from longpipe.fairness.controls import Sender
from longpipe.store import Store, default_url
from longpipe.study import Runner

SEEDS: Final = 5
PAGE: Final = Path(__file__).parent.parent / "docs" / "stacks-compared.md"
BEGIN: Final = "## Tables\n"
HEAD: Final = """
| sender | time [s] | goodput [Mbit/s] | RTT added [ms] | retransmissions [%] | ended early |
| --- | --- | --- | --- | --- | --- |
"""


def interval(values: Sequence[float]) -> str:
    """Returns the mean with half of its 95 % interval."""
    found = estimate(values)
    return f"{found.mean:.3g} ± {(found.mean_high - found.mean_low) / 2:.2g}"


def row(sender: str, size: int | None, runs: Sequence[SenderRun]) -> str:
    """Returns a line of a table; without a size, times are those of 10 MB."""
    times = [run.values[TIME.name] for run in runs]
    cells = [
        sender,
        interval(times),
        interval([8 * (size or 10_000_000) / 1e6 / time for time in times]),
        interval([1e3 * run.values[DELAY.name] for run in runs]),
        interval([run.values[RESENT.name] for run in runs]),
        str(sum(len(run.deaths) for run in runs) or ""),
    ]
    return f"| {' | '.join(cells)} |\n"


def tables(plan: RegressionPlan, senders: Sequence[Sender]) -> Iterator[str]:
    """Yields a heading and a table for each scenario."""
    with closing(Store(default_url())) as store:
        runs = {sender.name: runs_of(plan, sender, Runner(store)) for sender in senders}
    for name in STANDING:
        size = size_bytes(plan.scenarios[name])
        yield f"\n### {name}\n{HEAD}"
        yield from (row(sender.name, size, runs[sender.name][name]) for sender in senders)


def main() -> None:
    """Writes the page."""
    senders = [Sender.parse(text, "SENDER") for text in sys.argv[1:]]
    plan_file = PAGE.parent.parent / "target" / "stacks-compared.toml"
    plan_file.write_text(f'sender = "cubic"\nseeds = {SEEDS}\n')
    text = PAGE.read_text(encoding="utf-8").partition(BEGIN)[0]
    PAGE.write_text(text + BEGIN + "".join(tables(RegressionPlan.read(plan_file), senders)), encoding="utf-8")


if __name__ == "__main__":
    main()
