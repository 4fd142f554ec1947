"""The laboratory: real databases, clients, networks and broken disks for whole tests."""
