"""Measures of runs: the language of `--measure`, with dimensions, expressions and requirements."""
