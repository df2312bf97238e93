"""Run graphs exported by Optimum."""
