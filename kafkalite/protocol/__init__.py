"""Bytes to messages and back: Kafka's wire protocol and the formats of its records.

`messages` holds the schema of every message, `schema` says what a declaration means, `codec` turns
messages into bytes; `framing` and `headers` are what a connection needs around them. Nothing here
knows what a message is for.
"""
