"""Many workers: who runs the model, how far they are, and what becomes of a test that is lost."""
