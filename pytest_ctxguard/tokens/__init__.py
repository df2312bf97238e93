"""Exact token counts: tokenizer, chat template, counters; and estimators."""
