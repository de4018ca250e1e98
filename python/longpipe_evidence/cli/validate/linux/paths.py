"""`longpipe validate linux paths`: compares random paths for each congestion control in Linux and in longpipe."""

from pathlib import Path
from typing import TYPE_CHECKING, get_args

import typer

from longpipe.cli.toolkit.safe import echo
from longpipe.errors import ScenarioError, nearest
from longpipe.system.files import check_file
from longpipe_evidence.validate.linux import LinuxControl

if TYPE_CHECKING:
    from longpipe_evidence.validate.linux_paths_judged import PathJudgement

DIFFERENT = 1


def paths(
    file: Path = typer.Argument(help="CSV file of Linux's results; finished runs in it are kept."),
    control: list[str] | None = typer.Option(
        None, metavar="NAME", help="Congestion control. \\[default: all that longpipe models]"
    ),
    paths: int = typer.Option(40, min=1, help="Number of paths for each control."),
    judge: bool = typer.Option(False, "--judge", help="Evaluate the runs in the file without running Linux."),
    collect: bool = typer.Option(False, "--collect", help="Run Linux only, without an evaluation."),
) -> None:
    """Run random paths for each congestion control in Linux 6.1 and in longpipe, and judge each path.

    Runs that the file lacks are added as they finish: an interrupted command continues where it ended. On 90 % of a
    control's paths, goodput has to be within 3 % and the median RTT within 5 % of Linux's. On 80 % of the paths,
    packets lost, marked and retransmitted have to be within 15 % or 2 packets. Exit status 0 if they are, else 1.
    """
    from rich.console import Console

    from longpipe_evidence.validate import linux_paths as store
    from longpipe_evidence.validate.linux_paths_judged import judged

    if judge and collect:
        raise ScenarioError("--judge: not together with --collect; needs one of them, or none for both")
    controls: list[LinuxControl] = []
    for name in control or store.CONTROLS:
        if name not in store.CONTROLS:
            lacks = " (longpipe does not model it)" if name in get_args(LinuxControl) else ""
            raise ScenarioError(f"--control: {name!r}{lacks}; {nearest(name, store.CONTROLS)}")
        controls.append(name)
    if not judge:
        check_file("FILE", file, extends=True)
        store.collect(file, controls, paths, Console(stderr=True, highlight=False).print)
    if not collect:
        results = store.read(file)
        selected = results[results["control"].isin(controls) & (results["path"] < paths)]
        if selected.empty:
            raise ScenarioError(f"FILE: {str(file)!r}; needs finished runs of {', '.join(controls)}")
        echo(f"Linux {', '.join(selected['kernel'].unique())}; seeds {_ranges(selected['seed'].unique().tolist())}")
        if not _show(judged(selected), paths):
            raise typer.Exit(DIFFERENT)


def _show(judgements: "list[PathJudgement]", paths: int) -> bool:
    """Prints a line for each control, one for each path that differs, and whether all criteria are met."""
    from longpipe_evidence.validate.linux_judged import COUNTS, QUANTITIES
    from longpipe_evidence.validate.linux_paths import CONTROLS, NOT_MODELED
    from longpipe_evidence.validate.linux_paths_causes import CAUSES
    from longpipe_evidence.validate.linux_paths_judged import COUNTS_SHARE, STEADY_SHARE, TIMES

    met = True
    echo(f"{'control':<10}{'paths':>6}{'goodput and round trip':>24}{'losses and marks':>18}{'retransmitted':>15}")
    for control in CONTROLS:
        of_control = [judgement for judgement in judgements if judgement.control == control]
        if not of_control:
            continue
        steady, lost, retransmissions = (
            sum(judgement.agree(names) for judgement in of_control)
            for names in (TIMES, ("losses", "marks"), ("retransmissions",))
        )
        misses = [
            name
            for name, count, share in (
                ("goodput and round trip", steady, STEADY_SHARE),
                ("losses", lost, COUNTS_SHARE),
                ("retransmissions", retransmissions, COUNTS_SHARE),
            )
            if count < share * len(of_control)
        ]
        met = met and not misses
        note = f"  too few: {', '.join(misses)}" if misses else ""
        echo(f"{control:<10}{len(of_control):>6}{steady:>24}{lost:>18}{retransmissions:>15}{note}")
    echo("paths that differ, longpipe relative to Linux:")
    for judgement in judgements:
        if judgement.differing:
            parts = (
                f"{QUANTITIES[each.quantity]} {100 * each.difference:+.1f} %"
                + (f" ({each.longpipe:.0f} for {each.linux:.0f})" if each.quantity in COUNTS else "")
                for each in judgement.differing
            )
            cause = CAUSES.get((judgement.control, judgement.path), "not investigated")
            echo(f"  {judgement.control} {judgement.path}: {', '.join(parts)}; cause: {cause}")
    echo(
        f"not judged: {', '.join(NOT_MODELED)}, which longpipe does not model; the first third of goodput and round "
        "trip; windows over time and the order of losses"
    )
    short = sorted(
        {
            judgement.control
            for judgement in judgements
            if sum(each.control == judgement.control for each in judgements) < paths
        }
    )
    if short:
        echo(f"fewer than {paths} paths: {', '.join(short)}")
    return met


def _ranges(seeds: list[int]) -> str:
    """Formats numbers as ranges: 0-1, 1000-1001."""
    parts: list[list[int]] = []
    for seed in sorted(seeds):
        if parts and seed == parts[-1][-1] + 1:
            parts[-1].append(seed)
        else:
            parts.append([seed])
    return ", ".join(f"{part[0]}-{part[-1]}" if len(part) > 1 else f"{part[0]}" for part in parts)
