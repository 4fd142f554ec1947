"""What addresses are called (pure): host names, reverse zones, records and serials."""
