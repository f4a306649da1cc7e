"""A server that speaks Kafka's protocol, for laptops, CI and tests."""

__version__ = "0.1.0"
