"""Measurements: `make bench`. How to run them and what each figure means: docs/reference/performance.md."""
