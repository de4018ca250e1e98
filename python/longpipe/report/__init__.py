"""Reports: one self-contained HTML page of what was run, what came of it, and the data."""
