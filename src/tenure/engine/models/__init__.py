"""Which subnets may serve a request: one small file a network model, best subnet first.

A model is only offered subnets that have an address available.
"""

from collections.abc import Callable, Iterator

from tenure.engine.models import clustered, flat
from tenure.engine.rooms import Offered
from tenure.engine.space import Space
from tenure.engine.strategies.view import Wish

Model = Callable[[Wish, Offered[Space]], Iterator[Space]]

MODELS: dict[str, Model] = {"flat": flat.spaces, "clustered": clustered.spaces}

__all__ = ["MODELS", "Model"]
