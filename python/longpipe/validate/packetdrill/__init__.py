"""The TCP sender by scripts of packetdrill (Cardwell et al., USENIX ATC 2013): what arrives, and what has to leave."""

from longpipe.validate.packetdrill.outcome import Outcome, Verdict
from longpipe.validate.packetdrill.run import run_script

__all__ = ["Outcome", "Verdict", "run_script"]
