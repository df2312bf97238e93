"""Needles: a fact planted among others like it, asked for many times over drawn haystacks."""
