"""Emulated clouds whose machines are real: what boots there is the agent on loopback, with the instance's user data."""
