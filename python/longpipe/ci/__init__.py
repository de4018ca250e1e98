"""Regression tests of congestion controls and protocol stacks: paired runs over standing scenarios, with a verdict."""
