"""Generators that run by hand, where the real Kafka is installed."""
