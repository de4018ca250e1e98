"""Effects of the parameters that RFC 9438 leaves open: mean windows with alternative values, varied one at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import pandas as pd

from longpipe_evidence.papers.rfc_9438.connections import CONTROLS, SEED, Connection, connection, measure, published

if TYPE_CHECKING:
    from longpipe.study import Runner

# Linux's arithmetic for each column.
LINUX: Final[dict[str, dict[str, object]]] = {
    "reno": {"kind": "linux-reno"},
    "highspeed": {"kind": "highspeed", "rules": "linux"},
    "cubic-0.4": {**CONTROLS["cubic-0.4"], "rules": "linux"},
}
# Loss rate and controller of the rows of Table 1 that are simulated under each variant, which takes only seconds.
WATCHED: Final = ((1e-3, "reno"), (1e-4, "reno"), (1e-4, "highspeed"), (1e-3, "cubic-0.4"), (1e-4, "cubic-0.4"))


@dataclass(frozen=True)
class ConnectionVariant:
    """A change of a setting: its name, and the dotted scenario fields that it changes in a given connection."""

    name: str
    changes: Callable[[Connection], Mapping[str, object]]


VARIANTS: Final = (
    ConnectionVariant("none", lambda _: {}),
    ConnectionVariant("fast convergence", lambda connection: _cubic(connection, fast_convergence=True)),
    ConnectionVariant("Linux's arithmetic", lambda connection: {"tcp.congestion": LINUX[connection.control]}),
    ConnectionVariant("Linux's ACKs, for every second segment", lambda _: {"tcp.ack": "linux"}),
    ConnectionVariant("NewReno's recovery", lambda _: {"tcp.recovery": "newreno"}),
    ConnectionVariant("each loss drawn by itself", Connection.bernoulli),
)


def _cubic(connection: Connection, **options: object) -> dict[str, object]:
    """Returns the change that sets options of CUBIC; connections with another controller are not changed."""
    settings = CONTROLS[connection.control]
    return {"tcp.congestion": {**settings, **options}} if settings["kind"] == "cubic" else {}


def sensitivity(runner: Runner) -> pd.DataFrame:
    """Returns a row of printed windows and one per variant: `variant`, a mean window [segment] per selected row."""
    table = published()
    chosen = {}
    for row in table[table["table"] == "1"].to_dict("records"):
        if (row["loss"], row["control"]) in WATCHED:
            chosen[f"{row['control']} {row['loss']:g}"] = connection(row)
    jobs = {
        (variant.name, name): (of_row.scenario(**variant.changes(of_row)), SEED)
        for variant in VARIANTS
        for name, of_row in chosen.items()
    }
    runner.complete(jobs.values())
    rows: list[dict[str, object]] = [{"variant": "printed", **{name: of_row.window for name, of_row in chosen.items()}}]
    for variant in VARIANTS:
        windows = {
            name: measure(runner.require(*jobs[variant.name, name]), of_row.round_trip_ms)["window"]
            for name, of_row in chosen.items()
        }
        rows.append({"variant": variant.name, **windows})
    return pd.DataFrame(rows)
