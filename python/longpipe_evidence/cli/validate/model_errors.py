"""`longpipe validate model-errors`: errors of simulations with the hosts of a fit, over known paths."""

from pathlib import Path

import typer

from longpipe.cli.toolkit.safe import echo
from longpipe.errors import ScenarioError


def model_errors(
    file: Path = typer.Argument(help="CSV file of Linux's results, of `longpipe validate linux paths`."),
    control: list[str] | None = typer.Option(
        None, metavar="NAME", help="Congestion control of Linux; default: all in the file."
    ),
) -> None:
    """Compare simulations over known paths with Linux, and print the errors that `longpipe whatif` takes into account.

    The hosts are those that `longpipe fit` assumes. The table shows the errors that 95 % of the paths do not exceed.
    """
    import pandas as pd

    from longpipe_evidence.validate import linux_paths
    from longpipe_evidence.validate.model_errors import MEASURES, errors_of_paths, quantiles

    results = linux_paths.read(file)
    selected = results[results["control"].isin(control)] if control else results
    rows = []
    for name, path, errors in errors_of_paths(selected):
        echo(f"{name} {path}: " + ", ".join(f"{measure} {error:.2%}" for measure, error in errors.items()), err=True)
        rows.append({"control": name, "path": path, **errors})
    if not rows:
        raise ScenarioError(f"FILE: {str(file)!r}; needs finished runs of {', '.join(control or ['a control'])}")
    echo(f"{'control':<12}{'paths':>6}" + "".join(f"{measure:>14}" for measure in MEASURES))
    for row in quantiles(pd.DataFrame(rows)).to_dict("records"):
        echo(f"{row['control']:<12}{row['paths']:>6}" + "".join(f"{row[measure]:>14.2%}" for measure in MEASURES))
