"""What every use is: a tagged, frozen value."""

import msgspec


class Asking(msgspec.Struct, frozen=True, kw_only=True, tag_field="use", tag=True, omit_defaults=True):
    """A use; names in it are as the caller gave them."""
