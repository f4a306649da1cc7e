"""Classic groups: members join, the leader assigns, everybody syncs.

`events.py` is what one is asked and answers, `records.py` what it writes, `state.py` the live
group, `decide.py` and its neighbours the rules.
"""
