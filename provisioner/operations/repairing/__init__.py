"""A run of repairs while it goes on."""
