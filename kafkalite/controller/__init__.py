"""The controller: the one broker that decides what the metadata becomes. An event-sourced core.

`controller.py` routes events; each noun has its file. Decisions are Kafka's metadata records,
`state.py` is what they have made so far. `server/controller_driver.py` commits them and lets the
replies go.
"""
