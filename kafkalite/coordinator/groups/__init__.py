"""Groups and their committed offsets, by partition of `__consumer_offsets`.

`coordinator.py` routes events to the kind of group that decides them.
"""
