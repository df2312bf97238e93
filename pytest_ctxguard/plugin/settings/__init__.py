"""What a run is asked for: one table of settings, and one rule of which place counts."""
