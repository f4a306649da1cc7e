"""Consumer groups of the new protocol (KIP-848): members send heartbeats, the broker assigns.

Three epochs, each following the one before:

    group epoch        rises when what is to be assigned has changed: members, topics
    assignment epoch   the group epoch that the target assignment was made for
    member epoch       the assignment epoch that a member has come to

`events.py` is what such a group is asked and answers, `state.py` what its records say,
`member_records.py` these records. `turn.py` is what any request of a member makes of the group;
`heartbeats.py` and, for members that speak the classic protocol, `classic_joins.py` tell it what is
asked. `upgrade.py` and `downgrade.py` make one kind of group of the other. Unlike a classic group
it has no soft state but timers: each request is answered at once.
"""
