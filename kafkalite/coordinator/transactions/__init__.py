"""Transactions: who writes under which producer id, what belongs to an open transaction, and how it
ends (KIP-98, KIP-360, KIP-890). Event-sourced, on `__transaction_state`; `coordinator.py` is where
to begin."""
