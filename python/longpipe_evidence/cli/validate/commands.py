"""The commands of `longpipe validate`, imported when one of them is used."""

from longpipe.cli.toolkit.help import App
from longpipe_evidence.cli.validate.access import access
from longpipe_evidence.cli.validate.c4 import c4
from longpipe_evidence.cli.validate.fit import fit
from longpipe_evidence.cli.validate.kernel import kernel
from longpipe_evidence.cli.validate.linux import app as linux
from longpipe_evidence.cli.validate.model_errors import model_errors
from longpipe_evidence.cli.validate.netem import netem
from longpipe_evidence.cli.validate.ns2 import ns2
from longpipe_evidence.cli.validate.ns2_drops import ns2_drops
from longpipe_evidence.cli.validate.ns2_random import ns2_random
from longpipe_evidence.cli.validate.packetdrill import packetdrill
from longpipe_evidence.cli.validate.scream import scream
from longpipe_evidence.cli.validate.stacks import stacks
from longpipe_evidence.cli.validate.stacks_live import stacks_live
from longpipe_evidence.cli.validate.starlink import starlink
from longpipe_evidence.cli.validate.starlink_fit import starlink_fit
from longpipe_evidence.cli.validate.wifi import wifi

app = App(rich_markup_mode="rich")
app.add_typer(linux, name="linux")
app.command("access")(access)
app.command("ns2")(ns2)
app.command("ns2-random")(ns2_random)
app.command("ns2-drops")(ns2_drops)
app.command("c4")(c4)
app.command("fit")(fit)
app.command("kernel")(kernel)
app.command("model-errors")(model_errors)
app.command("netem")(netem)
app.command("packetdrill")(packetdrill)
app.command("scream")(scream)
app.command("stacks")(stacks)
app.command("stacks-live")(stacks_live)
app.command("starlink")(starlink)
app.command("starlink-fit")(starlink_fit)
app.command("wifi")(wifi)
