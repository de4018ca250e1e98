"""Searches for a scenario in which a congestion control or a stack performs poorly compared with a reference."""
