"""The worlds: what happens when an agent acts, and what it sees."""
