"""Metrics of one run, computed from its counters and traces."""
