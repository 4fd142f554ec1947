"""The REST API: FastAPI carries it, one file a noun; msgspec structs are its schemas."""
