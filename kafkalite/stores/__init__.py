"""Homes of the metadata: implementations of `metadata/store.py`.

`memory.py` for all brokers of one event loop, kept on disk by `metadata_log.py` when given a
folder.
"""
