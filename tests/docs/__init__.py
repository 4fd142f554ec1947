"""Every example of the documents is done as it is written."""
