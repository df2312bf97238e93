"""Record what an agent sends and is answered once, and replay it: vcrpy, with bodies compared."""
