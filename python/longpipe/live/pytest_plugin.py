"""Fixture of pytest for tests of real programs over a simulated path: `live_path`."""

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pytest

if TYPE_CHECKING:
    from longpipe.live import LiveRun
    from longpipe.scenario import Scenario


class LivePath:
    """The function that the fixture `live_path` returns."""

    def __call__(
        self,
        scenario: "Scenario | str | os.PathLike[str]",
        commands: Mapping[str, Sequence[str]],
        *,
        max_late: str,
        seed: int = 1,
        wait_for: str | None = None,
        alone: bool = True,
        clock: Literal["longpipe", "program"] = "longpipe",
        capture: str | os.PathLike[str] | None = None,
        mtu: int | None = None,
        longest_s: float | None = None,
    ) -> "LiveRun":
        """Runs commands at hosts of a scenario until the first command ends.

        `scenario` is a scenario or a TOML file; `commands` are the words of each command by host. The test fails if
        packets were later than `max_late`, as "20 ms" or "99.9 % within 20 ms". The first command starts half a second
        after the others, or when a program listens at `wait_for`, as "sink1:8080". Without `alone`, the scenario's
        other flows are simulated on the same path. The time of the path, and so that of its outages, begins when
        longpipe is ready, or with `clock="program"` when the first command starts. `capture` is a pcapng file to which
        the packets of all hosts are written. `mtu` is in bytes; its default is a full packet of the first flow.
        After `longest_s` seconds the first command is terminated.

        Returns the first command's exit status, and the certificate, whose lines are in the report of a failed test.
        Raises ScenarioError for invalid input, and RunError if the machine does not permit the run or fails.
        """
        __tracebackhide__ = True
        # Imported here because pytest loads this module in each environment that contains longpipe.
        from longpipe.errors import ScenarioError
        from longpipe.live import Settings, plan, run
        from longpipe.live.lateness import lateness_limit
        from longpipe.live.machine import check_machine
        from longpipe.live.waiting import check_wait_for
        from longpipe.scenario import Scenario

        if clock not in ("longpipe", "program"):
            raise ScenarioError(f"clock: {clock!r}; accepts longpipe, program")
        check_machine()
        limit_s, late_share = lateness_limit("max_late", max_late)
        path = plan(
            scenario if isinstance(scenario, Scenario) else Scenario.from_toml(Path(scenario)),
            tuple(commands),
            mtu=mtu,
            alone=alone,
        )
        done = run(
            path,
            commands,
            seed=seed,
            settings=Settings(limit_s=limit_s, late_share=late_share, begins_with_program=clock == "program"),
            capture=None if capture is None else Path(capture),
            wait_for=None
            if wait_for is None
            else check_wait_for(wait_for, commands, option="wait_for", needs="a second command"),
            longest_s=longest_s,
        )
        for line in done.certificate.lines():
            sys.stderr.write(f"live: {line}\n")
        if problems := list(done.certificate.problems()):
            pytest.fail(f"the timing does not hold: {'; '.join(problems)}", pytrace=False)
        return done


@pytest.fixture
def live_path() -> LivePath:
    """Returns a function that runs programs over a simulated path in real time, and checks the timing."""
    return LivePath()
