"""Tests about the house itself: what may import what, how large things are, what is documented."""
