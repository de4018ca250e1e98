"""Verdicts after a run: what limited each flow, and which flows were locked out."""
