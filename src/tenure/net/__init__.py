"""Address arithmetic (pure): one form for each address, prefix and identifier, and sets of ranges."""
