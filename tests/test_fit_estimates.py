"""Impossible values in the estimates next to a fitted scenario: `whatif` rejects them in one line."""

import json
from pathlib import Path
from typing import Any, Final

import pytest

from longpipe import ScenarioError
from longpipe.fit import path_file

ROWS: Final[dict[str, Any]] = {
    "rate": {"value": 1e7, "low": 9e6, "high": 1.1e7}, "base RTT": {"value": 0.04, "low": 0.039, "high": 0.04},
    "loss": {"value": 0.01, "low": 0.005, "high": 0.02, "count": 10, "packets": 1000},
}  # fmt: skip


def estimates(**changes: Any) -> dict[str, Any]:  # noqa: ANN401 - any value
    return {
        "format": path_file.FORMAT, "duration_s": 10.0, "estimates": ROWS, "controls": {"cubic": 0.9, "reno": 0.1}, "queues": {},
        "rate_steps": [{"at_s": 0.0}, {"at_s": 5.0}],
        "series": {"time_s": [0.5, 10.0], "delivered_bytes": [1, 2], "rtt_s": [0.04, None], "in_flight_bytes": [1, 1], "lost_s": [3.0]},
    } | changes  # fmt: skip


def opened(folder: Path, value: dict[str, Any]) -> dict[str, Any] | None:
    (folder / "path.fit.json").write_text(json.dumps(value))
    return path_file.read(folder / "path.toml")


def row(name: str, **changes: Any) -> dict[str, Any]:  # noqa: ANN401 - any value
    return {**ROWS, name: {**ROWS[name], **changes}}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"estimates": row("base RTT", value=-0.04)}, r"estimates\.base RTT\.value: -0\.04; needs 0 to 1e\+20"),
        ({"estimates": row("loss", high=1.5)}, r"estimates\.loss\.high: 1\.5; needs 0 to 1"),
        ({"estimates": row("loss", count=1001)}, r"estimates\.loss\.count: 1001; needs at most packets, 1000"),
        ({"estimates": row("rate", low="x")}, r"estimates\.rate\.low: 'x'; needs 0 to"),
        ({"controls": {"cubic": 1.4}}, r"controls\.cubic: 1\.4; needs 0 to 1"),
        ({"controls": {"cubic": 0.9, "reno": 0.9}}, r"controls: the shares add up to 1\.8; needs at most 1"),
        ({"rate_steps": [{"at_s": 20.0}]}, r"rate_steps\[0\]\.at_s: 20\.0; needs 0 to 12\.1 of the capture"),
        ({"series": {"time_s": [30.0]}}, r"series\.time_s\[0\]: 30\.0; needs 0 to 12\.1 of the capture"),
        ({"series": {"lost_s": [-1]}}, r"series\.lost_s\[0\]: -1; needs 0 to 12\.1 of the capture"),
        ({"series": {"rtt_s": [-1]}}, r"series\.rtt_s\[0\]: -1; needs 0 to"),
        ({"duration_s": -1}, r"duration_s: -1; needs 0 to"),
    ],
)
def test_impossible_estimates_are_rejected(tmp_path: Path, changes: dict[str, Any], said: str) -> None:
    assert opened(tmp_path, estimates()) is not None
    with pytest.raises(ScenarioError, match=rf"path\.fit\.json: {said}"):
        opened(tmp_path, estimates(**changes))
