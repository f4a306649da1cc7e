"""Coordinators: event-sourced cores on the partitions of internal topics.

Each decides for the ids that hash to its partition; its records are Kafka's own, so that loading is
reading the partition. `server/coordinator_driver.py` carries out what they answer.
"""
