"""`longpipe validate fit`: evaluates `longpipe fit` on captures of Linux over known paths."""

from pathlib import Path

import typer

from longpipe.cli.toolkit.given import given, refuse
from longpipe.cli.toolkit.quantities import seconds
from longpipe.cli.toolkit.safe import echo
from longpipe.errors import ScenarioError

NOT_MET = 1


def fit(
    context: typer.Context,
    folder: Path = typer.Argument(help="Folder of runs.csv, fits.csv and captures; finished rows are kept."),
    seed: int = typer.Option(0, min=0, help="Seed of the paths."),
    paths: int = typer.Option(40, min=0, help="Number of paths with tail drop."),
    queues: int = typer.Option(16, min=0, help="Number of paths with AQM."),
    mixed: int = typer.Option(60, min=0, help="Number of paths with other flows, a policer, jitter, steps, or AQM."),
    control_paths: int = typer.Option(10, min=0, help="Number of paths on which all controls are captured."),
    loss_draws: int = typer.Option(
        20, min=1, help="Number of runs of BBR and Reno in Linux on each path with random losses."
    ),
    seeds: int = typer.Option(40, min=3, help="Number of pairs of runs for each prediction."),
    most: float | None = typer.Option(None, metavar="TIME", parser=seconds, help="Stop after this time, as in '20 s'."),
    judge: bool = typer.Option(False, "--judge", help="Only evaluate the stored runs, without running Linux."),
    collect: bool = typer.Option(False, "--collect", help="Run Linux only."),
) -> None:
    """Fit captures of Linux 6.1 over random paths, and judge estimates, intervals and predictions.

    Linux's runs and the fits that the folder lacks are added as they finish: an interrupted command continues where it
    ended. Delete fits.csv to fit the kept captures again. Exit status 0 if all criteria are met, else 1.
    """
    from rich.console import Console

    from longpipe_evidence.validate import fit_results, fit_runs
    from longpipe_evidence.validate.linux import MIN_S

    if judge and collect:
        raise ScenarioError("--judge: not together with --collect; needs one of them, or none for both")
    if judge:
        refuse(context, set(given(context)) - {"--judge", "FOLDER"}, "not with --judge, which runs nothing")
    if collect:
        refuse(context, ("--seeds",), "not with --collect, which runs Linux only; needs a prediction")
    if most is not None and not most >= MIN_S:
        raise ScenarioError(f"--most: {most:g} s; needs at least {MIN_S:g} s")
    campaign = fit_runs.Campaign(seed, paths, queues, mixed, control_paths, loss_draws, most)
    tell = Console(stderr=True, highlight=False).print
    if not judge:
        fit_runs.collect(folder, campaign, tell)
        if not collect:
            fit_results.fit_each(folder, campaign, seeds, tell)
    if not collect and not _judged(folder):
        raise typer.Exit(NOT_MET)


def _judged(folder: Path) -> bool:
    """Prints a line for each criterion and each case that does not meet it; returns whether all criteria are met."""
    from longpipe_evidence.validate import fit_results, fit_runs
    from longpipe_evidence.validate.fit_judged import judged

    fits = fit_results.read(folder)
    if fits.empty:
        raise ScenarioError(f"FOLDER: {str(folder)!r}; needs finished fits in {fit_results.FILE}")
    criteria = judged(fit_runs.read(folder), fits)
    echo(f"{'criterion':<52}{'met':>5}{'of':>5}{'asked':>7}")
    for criterion in criteria:
        notes = "; ".join(["not met"] * (not criterion.holds) + [criterion.note] * bool(criterion.note))
        echo(f"{criterion.name:<52}{criterion.met:>5}{criterion.of:>5}{criterion.share:>7.0%}  {notes}".rstrip())
    for criterion in criteria:
        for text in criterion.misses:
            echo(f"  {criterion.name}: {text}")
    return all(criterion.holds for criterion in criteria)
