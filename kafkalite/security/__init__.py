"""Who somebody is: principals, and how SASL clients show who they are. Pure: no waiting, no clock,
no randomness."""
