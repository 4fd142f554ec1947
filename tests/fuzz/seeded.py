"""Hypothesis whose choices follow from the seed alone.

Its own provider mixes in constants found in whatever modules are loaded, so that one test run
alone would not repeat what it did among others. Telling values are the mutator's business here.
"""

from typing import Any

from hypothesis.internal.conjecture.providers import AVAILABLE_PROVIDERS, HypothesisProvider

BACKEND = "tenure-seeded"
"""What `settings(backend=...)` calls it."""


class Seeded(HypothesisProvider):
    """Draws no constants."""

    def _maybe_draw_constant(self, choice_type: Any, constraints: Any, *, p: float = 0.0) -> None:
        return None


AVAILABLE_PROVIDERS[BACKEND] = f"{__name__}.{Seeded.__name__}"
