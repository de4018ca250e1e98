"""Writes the computed tables; `published.csv` is kept by hand."""

from access_witnesses import capacity_requests, cellreplay, dcf, delays, jitter, random_access, satellite_frames
from access_witnesses.tables import write

for name, module in {
    "wifi": dcf,
    "random-access": random_access,
    "requests": capacity_requests,
    "cellreplay": cellreplay,
    "satellite-frames": satellite_frames,
    "delays": delays,
    "wifi-jitter": jitter,
}.items():
    write(name, module.COMMENT, module.rows())
