"""The site of the API's tests, for the client."""

from tests.surfaces.api.conftest import bare, site

__all__ = ["bare", "site"]
