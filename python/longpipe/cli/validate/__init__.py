"""`longpipe validate`: longpipe beside an independent simulator."""

import typer

from longpipe.cli.groups import LazyGroup


class Validate(LazyGroup):
    """Its commands read the defaults of their options off scenarios."""

    home = "longpipe.cli.validate.commands"


app = typer.Typer(cls=Validate, no_args_is_help=True, rich_markup_mode="rich")
