"""Settings: what each key means (`topic_keys`, `broker_keys`, `described_keys`, `group_keys`), and
typed views of their values (`views`)."""
