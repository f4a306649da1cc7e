"""One broker: sockets and time around the cores. Asks a core, then carries out what it answered."""
