"""Reports: one self-contained HTML page with scenarios, results and data."""
