"""Write a checkpoint as the engine's own graph."""
