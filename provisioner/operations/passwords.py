"""Hashes of passwords as the engine stores them, so that no statement that reaches it holds a password."""

import bcrypt

# bcrypt's work factor guards guessable passwords. The control account's is 256 random bits, so the lowest will do, and
# a login of the agent costs a cold JVM a millisecond instead of a quarter second. People's passwords get the usual 10.
CONTROL_BCRYPT_ROUNDS = 4
ADMIN_BCRYPT_ROUNDS = 10

CONTROL_USERNAME = "ringmaster"


def bcrypt_hash(password: bytes, rounds: int) -> str:
    # The engine's bcrypt (jBCrypt) knows the prefix 2a only; the bytes after it mean the same.
    return bcrypt.hashpw(password, bcrypt.gensalt(rounds, prefix=b"2a")).decode()
