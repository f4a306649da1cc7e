"""One broker's bytes: partitions as folders of segments, exactly as Kafka lays them out.

Synchronous, and without a clock: `now` is an argument. Only `files_os.py`, and what it is made of,
touches the disk.
"""
