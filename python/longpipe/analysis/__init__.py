"""Metrics, verdicts and tables computed from data frames of results."""
