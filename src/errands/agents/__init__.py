"""Who decides: the networks, and how they are put together."""
