"""Counters of many kinds: by name, from a tokenizer's file, from a function, or a server's."""
