"""One copy of a partition: what its leader knows, and what a fetch of it may see. Decides, never
waits."""
