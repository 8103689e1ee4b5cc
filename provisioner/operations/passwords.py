"""Hashes of passwords as the engine stores them, so that no statement that reaches it holds a password."""

import base64
import hmac

import bcrypt

# bcrypt's work factor guards guessable passwords. The control account's is 256 random bits, so the lowest will do, and
# a login of the agent costs a cold JVM a millisecond instead of a quarter second. People's passwords get the usual 10.
CONTROL_BCRYPT_ROUNDS = 4
PEOPLES_BCRYPT_ROUNDS = 10

CONTROL_USERNAME = "ringmaster"


def persons_hash(password: bytes) -> str:
    """The hash of a person's password, with a new salt."""
    return _bcrypt_hash(password, PEOPLES_BCRYPT_ROUNDS)


def control_hash(password: bytes) -> str:
    """The hash of the control account's password, with a new salt."""
    return _bcrypt_hash(password, CONTROL_BCRYPT_ROUNDS)


def _bcrypt_hash(password: bytes, rounds: int) -> str:
    # The engine's bcrypt (jBCrypt) knows the prefix 2a only; the bytes after it mean the same.
    return bcrypt.hashpw(password, bcrypt.gensalt(rounds, prefix=b"2a")).decode()


def steady_hash(password: bytes, *, purpose: str) -> str:
    """The same hash at every call, for random passwords only: a step that runs again must mean the same role.

    Its salt is derived from password and purpose, so nobody without the password can know it beforehand.
    """
    salt = base64.b64encode(hmac.digest(password, purpose.encode(), "sha256")[:16]).decode().rstrip("=")
    own = salt.translate(str.maketrans(_BASE64, _BCRYPT_BASE64))
    return bcrypt.hashpw(password, f"$2a${PEOPLES_BCRYPT_ROUNDS:02}${own}".encode()).decode()


_BASE64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_BCRYPT_BASE64 = "./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
