"""What the cluster agrees on: the closed set of changes, the image they fold into, and the store's
port.

`changes.py` Kafka's metadata records; `image.py` the immutable picture; `draft.py` the fold from
one to the other, `delta.py` what it changed; `snapshot.py` the way back; `store.py` the port that
keeps it all.
"""
