"""Tenure owns the IP addresses of the networks it manages."""

__version__ = "0.1.0"
