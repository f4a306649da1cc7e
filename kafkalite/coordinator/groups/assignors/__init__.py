"""How a coordinator spreads partitions over the members of a consumer group: pure functions.

`subject.py` is what they are given, `uniform.py` and `range.py` are Kafka's two (KIP-848);
`uniform_mixed.py` is what uniform does where members subscribe to different topics.
"""
