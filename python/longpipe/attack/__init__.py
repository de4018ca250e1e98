"""Searches for a scenario in which a congestion control or a stack does badly compared with a reference."""
