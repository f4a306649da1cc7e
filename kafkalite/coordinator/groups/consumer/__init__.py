"""Consumer groups of the new protocol (KIP-848): members send heartbeats, the broker assigns.

Three epochs, each following the one before:

    group epoch        rises when what is to be assigned has changed: members, topics
    assignment epoch   the group epoch that the target assignment was made for
    member epoch       the assignment epoch that a member has come to

`events.py` is what such a group is asked and answers, `state.py` what its records say, `records.py`
these records, `heartbeat.py` and its neighbours the rules. Unlike a classic group it has no soft
state but timers: each heartbeat is answered at once.
"""
