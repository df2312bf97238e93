"""Audit estimators against exact counts, and fit their constants."""
