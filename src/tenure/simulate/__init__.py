"""The allocator on a made-up site: a workload is replayed against the real engine, and the routes are counted.

It drives the engine alone: no store, no service, no clock. The same world and
the same seed give the same figures, on any machine and with any number of processes.
"""
