"""What is repaired, when, where and how fast. Pure: facts in, decisions out; no database, no clock, no network."""
