"""The schema of every message: a module for each API, and modules of records.

Made by tools/generate_messages.py from the facts in Kafka's own jars; not edited by hand. `schema`
says how to read a declaration; `index` has one row for each API.
"""
