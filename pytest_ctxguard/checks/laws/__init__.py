"""The laws of policies: what any policy must keep, and what it may declare, on any history."""
