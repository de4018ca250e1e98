"""`longpipe live mm-link ...`: mahimahi's command lines."""

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import typer

from longpipe.cli.toolkit.safe import Console
from longpipe.errors import ScenarioError, shown
from longpipe.inputs.numbers import whole_number
from longpipe.live.waiting import LONGEST_WAIT, check_wait_for

LITERALLY = {"allow_extra_args": True, "ignore_unknown_options": True, "allow_interspersed_args": False}


def _meter(ways: set[str], errors: Console) -> Callable[[dict[str, Any]], None]:
    """Returns a callback that prints the throughput in the given directions since its previous call."""
    before: dict[str, float] = {}

    def print_rates(counters: dict[str, Any]) -> None:
        seconds = counters["elapsed_s"] - before.get("elapsed_s", 0.0)
        for way, host in (("uplink", "outside"), ("downlink", "inside")):
            delivered = counters["delivered_bytes"][host]
            if way in ways and seconds > 0:
                rate = 8 * (delivered - before.get(host, 0)) / seconds / 1e6
                errors.print(f"live: {counters['elapsed_s']:.0f} s, {way} {rate:.2f} Mbit/s", markup=False)
            before[host] = delivered
        before["elapsed_s"] = counters["elapsed_s"]

    return print_rates


def _seed(text: str) -> int:
    """Returns the number given by --seed; raises ScenarioError if it is invalid."""
    seed = whole_number(text)
    if seed is None:
        raise ScenarioError(f"--seed: {shown(text)}; needs a whole number from 0")
    return seed


def shell(name: str, usage: str) -> Callable[..., None]:
    """Returns the command that starts a shell."""

    def command(
        context: typer.Context,
        outside: str | None = typer.Option(None, metavar="COMMAND", help="Command at the far end, run by sh."),
        seed: int | None = typer.Option(None, min=0, help="Seed of every random stream.", show_default="1"),
        awaited: str | None = typer.Option(
            None, "--wait-for", metavar="outside:PORT", help="Start once a program of --outside listens on this port."
        ),
        wait_at_most: str | None = typer.Option(
            None,
            "--wait-at-most",
            metavar="TIME",
            help="With --wait-for: fail after this time.",
            show_default=LONGEST_WAIT,
        ),
    ) -> None:
        from longpipe.live import Settings, plan, run
        from longpipe.live.lateness import seconds
        from longpipe.live.machine import check_machine
        from longpipe.live.mahimahi import INSIDE, OUTSIDE, chain

        shells = chain([name, *context.args])
        # Options that precede the arguments of the first shell; all other options are in the chain.
        given = {"outside": outside, "seed": seed, "wait-for": awaited, "wait-at-most": wait_at_most}
        for option, value in given.items():
            if value is not None:
                shells.keep_own(option, str(value))
        seed_of_run = _seed(shells.own.get("seed", "1"))
        if "wait-at-most" in shells.own and "wait-for" not in shells.own:
            raise ScenarioError("--wait-at-most: needs --wait-for outside:PORT")
        longest_wait_s = seconds("--wait-at-most", shells.own.get("wait-at-most", LONGEST_WAIT))
        programs = (INSIDE, OUTSIDE) if "outside" in shells.own else (INSIDE,)
        wait_for = None
        if "wait-for" in shells.own:
            wait_for = check_wait_for(
                shells.own["wait-for"], programs, needs="--outside COMMAND", example="outside:8080"
            )
        check_machine()
        path = plan(shells.scenario(), (INSIDE, OUTSIDE))
        # Address of mahimahi's outermost host.
        os.environ["MAHIMAHI_BASE"] = path.hosts[1].address
        commands = {INSIDE: shells.command or [os.environ.get("SHELL") or "/bin/sh"]}
        if "outside" in shells.own:
            commands[OUTSIDE] = ["/bin/sh", "-c", shells.own["outside"]]
        errors = Console(stderr=True, highlight=False, soft_wrap=True)
        with tempfile.TemporaryDirectory(prefix="longpipe-live-") as place:
            capture = Path(place) / "log.pcapng" if shells.logs else None
            done = run(
                path,
                commands,
                seed=seed_of_run,
                settings=Settings(),
                capture=capture,
                progress=_meter(shells.meters, errors) if shells.meters else None,
                longest_s=shells.ends_s,
                wait_for=wait_for,
                longest_wait_s=longest_wait_s,
                tell=lambda line: errors.print(f"live: {line}", markup=False),
            )
            if capture is not None:
                shells.write_logs(capture)
        for line in done.certificate.lines():
            errors.print(f"live: {line}", markup=False)
        if done.status != 0:
            raise typer.Exit(done.status)

    command.__doc__ = (
        f"Run a command as mahimahi does: {usage}.\n\n    The far end is the outer host; its address is also in "
        "MAHIMAHI_BASE. Shells can be nested: mm-delay 20 mm-link up down COMMAND. --outside, --seed, --wait-for "
        "and --wait-at-most may follow the name or the arguments of any of them."
    )
    return command


mm_delay = shell("mm-delay", "mm-delay MILLISECONDS [COMMAND ...]")
mm_link = shell("mm-link", "mm-link UP DOWN [--uplink-queue=droptail --uplink-queue-args=packets=N ...] [COMMAND ...]")
mm_loss = shell("mm-loss", "mm-loss uplink|downlink PROBABILITY [COMMAND ...]")
mm_on_off = shell("mm-onoff", "mm-onoff uplink|downlink MEAN-ON-TIME MEAN-OFF-TIME [COMMAND ...], times in seconds")
