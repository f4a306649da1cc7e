"""Settings: what each key means (`definitions`), and typed views of their values (`views`)."""
