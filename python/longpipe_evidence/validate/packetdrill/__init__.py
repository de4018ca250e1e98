"""Tests the TCP sender with packetdrill scripts (Cardwell et al., USENIX ATC 2013)."""

from longpipe_evidence.validate.packetdrill.outcome import Outcome, Verdict
from longpipe_evidence.validate.packetdrill.run import run_script

__all__ = ["Outcome", "Verdict", "run_script"]
