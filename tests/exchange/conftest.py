"""The site of the API's tests, for the readers."""

from tests.surfaces.api.conftest import bare, site

__all__ = ["bare", "site"]
