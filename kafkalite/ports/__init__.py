"""All that a broker asks of the world around it but its files: time, randomness, network,
threads."""
