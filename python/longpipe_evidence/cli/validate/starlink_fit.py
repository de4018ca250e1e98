"""`longpipe validate starlink-fit`: compares intervals of `longpipe fit --model starlink` with known parameters."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import typer

from longpipe.cli.toolkit.outputs import check_output, write_output
from longpipe.cli.toolkit.safe import echo


def starlink_fit(
    sites: int = typer.Option(20, min=1, help="Number of synthetic sites."),
    first: int = typer.Option(1, min=0, help="Number of the first site, which is its seed."),
    hours: float = typer.Option(24.0, min=3.0, max=240.0, help="Length of the measurements of a site in hours."),
    csv: Path | None = typer.Option(None, metavar="FILE", help="Write true values, estimates and intervals."),
) -> None:
    """Fit synthetic sites with known parameters, and print the share of 95 % intervals that contain the true values.

    A site has files of iperf3 over UDP and of ping, made from the series of a Starlink path with drawn parameters.
    Takes about 7 s of CPU time for each site. Exit status 0, because the share is a result.
    """
    import pandas as pd

    from longpipe_evidence.validate.starlink_sites import intervals

    if csv is not None:
        check_output("--csv", csv)
    rows = []
    for site in range(first, first + sites):
        with TemporaryDirectory() as folder:
            of_site = intervals(site, Path(folder), hours)
        rows += [{**estimate._asdict(), "hit": estimate.is_hit} for estimate in of_site]
        missed = [estimate.name for estimate in of_site if not estimate.is_hit]
        echo(f"site {site}: {len(of_site) - len(missed)} of {len(of_site)} intervals contain the true value", err=True)
    table = pd.DataFrame(rows)
    if csv is not None:
        write_output(csv, table.to_csv(index=False, lineterminator="\n"))
    of_name = table.groupby("name", sort=False)["hit"].agg(["sum", "count"])
    echo(f"{'quantity':<24}{'intervals':>10}{'hits':>6}")
    for name, (hits, count) in of_name.iterrows():
        echo(f"{name!s:<24}{count:>10}{hits:>6}")
    echo(f"{table['hit'].sum()} of {len(table)} intervals of 95 % contain the true value: {table['hit'].mean():.1%}")
