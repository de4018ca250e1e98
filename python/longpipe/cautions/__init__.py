"""Warnings before a run about scenarios that do not test what they seem to test."""
