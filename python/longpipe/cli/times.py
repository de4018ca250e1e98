"""Times on the command line: numbers of seconds, or times with a unit as in scenarios."""

import typer


def seconds(text: str) -> float:
    """Returns a time in seconds: "10", "10 s" or "250 ms"."""
    # Imported here so that other commands start faster.
    from longpipe.units import TIME

    try:
        return float(text)
    except ValueError:
        pass
    try:
        return TIME.parse(text) / 1e12
    except ValueError:
        raise typer.BadParameter("needs a number of seconds, or a time with its unit, as in '250 ms'") from None
