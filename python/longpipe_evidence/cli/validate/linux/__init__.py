"""`longpipe validate linux`: comparisons with the TCP of Linux."""

from longpipe.cli.toolkit.help import App
from longpipe_evidence.cli.validate.linux.ends import ends
from longpipe_evidence.cli.validate.linux.path import path
from longpipe_evidence.cli.validate.linux.paths import paths
from longpipe_evidence.cli.validate.linux.scenario import scenario
from longpipe_evidence.cli.validate.linux.tables import tables

app = App(
    no_args_is_help=True, rich_markup_mode="rich", help="Compare longpipe with the TCP of Linux 6.1, in virtual time."
)
app.command("path")(path)
app.command("paths")(paths)
app.command("scenario")(scenario)
app.command("ends")(ends)
app.command("tables")(tables)
