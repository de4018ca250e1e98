"""The scenario, the ranges and the defects of `longpipe attack` without a scenario file."""

from typing import Final

SCENARIO: Final = """\
# One download over a link. `longpipe attack` without a file changes this scenario.
schema = 2
name = "attack"
duration = "12 s"
framing = "ip"

[network]
kind = "dumbbell"
sources = 1
access_rate = "1 Gbit/s"
access_delay = "5 us"
trunk_rate = "20 Mbit/s"
trunk_delay = "20 ms"
return_buffer = "200 packets"   # of ACKs
exit_delay = "5 us"

[switch]
buffer = "1 BDP"

[tcp]
profile = "linux-6"             # CUBIC, SACK and RACK
"""

# Fields that may change, in the format of --may.
RANGES: Final = (
    "network.trunk_rate=4..50 Mbit/s",
    "network.trunk_delay=2..300 ms",
    "network.return_rate=50..5000 kbit/s",
    "switch.buffer=4..1000 ms",
    "switch.policy=codel,fq-codel,pie",
    'network.trunk_loss={kind = "bernoulli", probability = "0.0001..0.02"}',
    'network.conditioners=[{kind = "jitter", delay = "1..100 ms", jitter = "1..100 ms", order = "fifo"}]',
    'network.path={between = "hold", delay = [["0 s", "2..100 ms"], ["1..8 s", "2..300 ms"]]}',
)

# Efficiency less than half of the reference's, on a link of which the reference uses at least half.
DEFECTS: Final = ("efficiency < 0.5 * reference(efficiency)", "reference(efficiency) >= 50 %")
REFERENCE: Final = "cubic"
