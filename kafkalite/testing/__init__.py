"""What tests use, kafkalite's own and its users': steerable time, faults, whole runs in virtual
time."""
