"""From frames of results to metrics, verdicts and tables."""
