"""`longpipe live PATH.toml`: runs commands at the ends of a path."""

import os
from collections.abc import Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from longpipe.cli.toolkit.given import NeedingCommand
from longpipe.cli.toolkit.help import MORE
from longpipe.cli.toolkit.outputs import check_output, json_option, write_output
from longpipe.cli.toolkit.quantities import number_of_bytes
from longpipe.cli.toolkit.safe import Console
from longpipe.cli.toolkit.storing import SeedOption, SetOption
from longpipe.errors import RunError, ScenarioError
from longpipe.live.lateness import lateness_limit, seconds
from longpipe.live.waiting import LONGEST_WAIT, check_wait_for

if TYPE_CHECKING:
    from longpipe.live import Certificate
    from longpipe.scenario import Scenario

LATE = 1
# Separator between a host and its command in the single argument into which the two arguments of --at are joined.
BETWEEN = "\0"
# Key of the context's entry that says whether the command line contains `--`.
SEPARATED = "longpipe.separated"


class Clock(StrEnum):
    """When the time of the path begins."""

    LONGPIPE = "longpipe"
    PROGRAM = "program"
    UTC = "utc"


class Device(StrEnum):
    """How the packets of a host are captured."""

    ANY = "any"
    TUN = "tun"
    PACKET = "packet"


class PathContext(typer.Context):
    """Context of `longpipe live FILE.toml`, whose hidden command name does not appear in usage lines."""

    @property
    def command_path(self) -> str:
        """The part of the command line that the user typed, for usage and errors."""
        return super().command_path.removesuffix(f" {self.info_name}")


class AtCommand(NeedingCommand):
    """A command whose option --at takes two arguments."""

    context_class = PathContext
    needs = {"--wait-at-most": "--wait-for"}  # noqa: RUF012 - a ClassVar of the base class

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401 - Click's Context
        """Joins the two arguments of each --at into one, and notes whether `--` precedes the command."""
        ctx.meta[SEPARATED] = "--" in args
        return super().parse_args(ctx, _joined(args))


def _joined(args: Sequence[str]) -> list[str]:
    """Joins the two values of each --at, because the parser accepts one value per option."""
    joined: list[str] = []
    index = 0
    while index < len(args) and args[index] != "--":
        width = 2 if args[index] == "--at" and len(args) > index + 2 and args[index + 2] != "--" else 0
        joined.append(args[index])
        if width:
            joined.append(BETWEEN.join(args[index + 1 : index + 3]))
        index += 1 + width
    return [*joined, *args[index:]]


def run(
    context: typer.Context,
    file: str = typer.Argument(metavar="FILE.toml", help="Scenario file; `longpipe init` writes one."),
    command: list[str] | None = typer.Argument(
        None, metavar="[-- COMMAND ...]", help="Program at the first flow's sender. \\[default: a shell]"
    ),
    at: list[str] | None = typer.Option(
        None, "--at", metavar="HOST COMMAND", help="Run a program at this host: --at source1 'ping -c 3 sink1'. Repeat."
    ),
    awaited: str | None = typer.Option(
        None,
        "--wait-for",
        metavar="HOST:PORT",
        help="Wait until a program listens at HOST:PORT before the first program starts.",
    ),
    wait_at_most: str = typer.Option(
        LONGEST_WAIT,
        "--wait-at-most",
        metavar="TIME",
        help="With --wait-for: fail after this time.",
        rich_help_panel=MORE,
    ),
    alone: bool = typer.Option(False, "--alone", help="Leave out the scenario's own simulated flows."),
    outside: bool = typer.Option(
        False,
        "--outside",
        help="Make the last host a gateway to the Internet, through pasta (package passt); IPv4 only.",
    ),
    changes: SetOption = None,
    seed: SeedOption = 1,
    record: Path | None = typer.Option(
        None, metavar="FILE", help="Record the packets for `longpipe live replay`.", rich_help_panel=MORE
    ),
    capture: Path | None = typer.Option(
        None, metavar="FILE", help="Write a pcapng capture, with the cause of each loss."
    ),
    json: str | None = json_option("the timing report"),
    max_late: str | None = typer.Option(
        None,
        metavar="TIME|'P % within TIME'",
        help="Fail if a packet is later than TIME, or fewer than P % of the packets are within TIME; also fail if "
        "longpipe is suspended for longer, or the machine drops a packet.",
    ),
    clock: Clock = typer.Option(
        Clock.LONGPIPE,
        help="Start of the path's clock: when longpipe is ready, when the first program starts, or at a full second "
        "of UTC, so that slots of Starlink are those of the wall clock.",
        rich_help_panel=MORE,
    ),
    progress: bool = typer.Option(False, "--progress", help="Report the timing once a second.", rich_help_panel=MORE),
    quiet: bool = typer.Option(False, "--quiet", help="Print only the output of the programs."),
    mtu: int | None = typer.Option(
        None,
        metavar="BYTES",
        parser=number_of_bytes,
        help="Largest IP packet. \\[default: the MSS plus headers]",
        rich_help_panel=MORE,
    ),
    spin: str = typer.Option(
        "50 us",
        metavar="TIME",
        help="In the last TIME before a packet is due, poll the clock instead of sleeping.",
        rich_help_panel=MORE,
    ),
    no_real_time: bool = typer.Option(
        False, "--no-real-time", help="Do not request real-time priority.", rich_help_panel=MORE
    ),
    let_halt: bool = typer.Option(
        False, "--let-halt", help="Let idle processors halt, which saves power and adds latency.", rich_help_panel=MORE
    ),
    device: Device = typer.Option(
        Device.ANY, help="TUN, packet sockets over veth, or the first that works.", rich_help_panel=MORE
    ),
    as_user: bool = typer.Option(False, "--as-user", help="Use a user namespace, even as root.", rich_help_panel=MORE),
) -> None:
    """Run real programs over a simulated path in real time (Linux).

    longpipe live geo.toml --alone -- ping -c 3 sink1

    longpipe live geo.toml --wait-for sink1:5201 --at source1 'iperf3 -c sink1' --at sink1 'iperf3 -s'

    The run ends when the first program ends: COMMAND, or else that of the first --at. Hosts have the names of the
    scenario and reach each other by these names. A host that runs a program is real, and its scenario flows are left
    out; all other flows are simulated. Exit status: the first program's, or 1 if --max-late is exceeded.
    """
    # Imported here because loading the engine is slow.
    from longpipe.cli.run import scenario_with
    from longpipe.live import Settings
    from longpipe.live import plan as planned
    from longpipe.live import run as run_live
    from longpipe.live.hosts import first_sender
    from longpipe.live.machine import check_machine
    from longpipe.live.records import check_places
    from longpipe.live.utc import at_present

    check_machine()
    if at and command and not context.meta[SEPARATED]:
        raise _unquoted(at[-1], command)
    check_places(record, capture)
    check_output("--json", json)
    limit_s, late_share = lateness_limit("--max-late", max_late or "1 ms")
    longest_wait_s = seconds("--wait-at-most", wait_at_most)
    scenario = scenario_with(Path(file), changes or [])
    commands = _commands(first_sender(scenario), command or [], at or [])
    wait_for = None if awaited is None else check_wait_for(awaited, commands)
    scenario, begins_at_s = at_present(scenario) if clock is Clock.UTC else (scenario, None)
    plan = planned(scenario, tuple(commands), mtu=mtu, alone=alone)
    settings = Settings(
        device=device.value,
        as_user=as_user,
        spin_s=seconds("--spin", spin),
        limit_s=limit_s,
        late_share=late_share,
        begins_with_program=clock is Clock.PROGRAM,
        begins_at_s=begins_at_s,
        real_time=not no_real_time,
        awake=not let_halt,
    )
    errors = Console(stderr=True, highlight=False, soft_wrap=True)
    if not quiet:
        hosts = ", ".join(f"{host.name} {host.address}" for host in plan.hosts)
        simulated = len(plan.simulated)
        errors.print(
            f"live: {scenario.name}, {hosts}, MTU {plan.mtu}, {simulated} simulated flow{'s' * (simulated != 1)}",
            markup=False,
        )
        for line in _in_process(scenario):
            errors.print(line, markup=False)
        if not plan.has_ipv6:
            errors.print("live: no IPv6, which needs an MTU of 1280")

    def print_progress(counters: dict[str, Any]) -> None:
        worst_ms = 1e3 * (counters["lateness_s"]["1"] or 0.0)
        elapsed_s, delivered = counters["elapsed_s"], counters["delivered"]
        errors.print(f"live: {elapsed_s:.0f} s, {delivered} delivered, late by {worst_ms:.2f} ms at worst")

    done = run_live(
        plan,
        commands,
        seed=seed,
        settings=settings,
        record=record,
        capture=capture,
        alone=alone,
        to_outside=outside,
        progress=print_progress if progress else None,
        wait_for=wait_for,
        longest_wait_s=longest_wait_s,
        tell=(lambda line: None) if quiet else (lambda line: errors.print(f"live: {line}", markup=False)),
    )
    _show(done.certificate, errors, json, quiet=quiet)
    if done.status != 0:
        raise typer.Exit(done.status)
    if max_late is not None and not done.certificate.holds:
        raise RunError(f"--max-late: {'; '.join(done.certificate.problems())}")


def _show(certificate: "Certificate", errors: Console, json: str | None, *, quiet: bool) -> None:
    if json is not None:
        write_output(json, certificate.to_json())
    if not quiet:
        for line in certificate.lines():
            errors.print(f"live: {line}", markup=False)


def _unquoted(at: str, command: list[str]) -> ScenarioError:
    """Returns the error of words that follow a command of `--at`."""
    host, _, words = at.partition(BETWEEN)
    whole = " ".join([words, *command])
    return ScenarioError(
        f"--at: {host} {words!r}, then {command[0]!r}; needs quotes around a command: --at {host} '{whole}', "
        "or -- before the command of the first flow's sender"
    )


def _commands(sender: str, command: list[str], at: list[str]) -> dict[str, list[str]]:
    """Returns the commands by host: the command of the first flow's sender, if there is one, and those of `--at`.

    Without any command, the sender runs a shell.
    """
    commands: dict[str, list[str]] = {}
    for text in at:
        host, between, words = text.partition(BETWEEN)
        if not between:
            raise ScenarioError(f"--at: {text!r}; needs a host and its command, as in --at sink1 'iperf3 -s'")
        if host in commands:
            raise ScenarioError(f"--at: {host!r} twice; needs one command for each host")
        commands[host] = ["/bin/sh", "-c", words]
    if command and sender in commands:
        raise ScenarioError(
            f"COMMAND: {command[0]!r} after -- runs at {sender}, the first flow's sender, as does a command of --at; "
            "needs one command for each host"
        )
    if command or not commands:
        return {sender: command or [os.environ.get("SHELL") or "/bin/sh"], **commands}
    return commands


def _in_process(scenario: "Scenario") -> Iterator[str]:
    """Yields notes that controllers from files run in the process of the live path, where a crash ends it."""
    from longpipe.scenario.module import modules_of

    if modules := modules_of(scenario.resolved):
        from longpipe.scenario.own_names import name_of_control

        for digest in modules:
            yield f"live: {name_of_control(digest, scenario)} runs in this process, and ends it if it crashes"
