"""Tests the TCP sender by scripts of packetdrill (Cardwell et al., USENIX ATC 2013)."""

from longpipe.validate.packetdrill.outcome import Outcome, Verdict
from longpipe.validate.packetdrill.run import run_script

__all__ = ["Outcome", "Verdict", "run_script"]
