from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.core.secrets import MasterKey, SecretUnreadable, seal, unseal

MASTER = MasterKey(b"m" * 32)


@given(st.binary(max_size=2000))
def test_it_gives_back_what_it_was_given(plaintext: bytes) -> None:
    sealed = seal(MASTER, plaintext, owner="clu_1", purpose="admin-password")
    assert unseal(MASTER, sealed, owner="clu_1", purpose="admin-password") == plaintext


def test_it_never_holds_the_plaintext_and_never_repeats_itself() -> None:
    first = seal(MASTER, b"correct horse battery", owner="clu_1", purpose="admin-password")
    second = seal(MASTER, b"correct horse battery", owner="clu_1", purpose="admin-password")
    assert b"correct horse" not in first.ciphertext + first.wrapped_key
    assert first.ciphertext != second.ciphertext
    assert first.wrapped_key != second.wrapped_key


@pytest.mark.parametrize(("owner", "purpose"), [("clu_2", "admin-password"), ("clu_1", "control-password")])
def test_it_does_not_open_for_another_owner_or_purpose(owner: str, purpose: str) -> None:
    sealed = seal(MASTER, b"x", owner="clu_1", purpose="admin-password")
    with pytest.raises(SecretUnreadable):
        unseal(MASTER, sealed, owner=owner, purpose=purpose)


def test_it_does_not_open_with_another_master_key_and_says_which_it_needs() -> None:
    sealed = seal(MASTER, b"x", owner="clu_1", purpose="p")
    with pytest.raises(SecretUnreadable, match=MASTER.id):
        unseal(MasterKey(b"n" * 32), sealed, owner="clu_1", purpose="p")


@pytest.mark.parametrize("field", ["ciphertext", "wrapped_key"])
def test_it_notices_a_changed_byte(field: str) -> None:
    sealed = seal(MASTER, b"x", owner="clu_1", purpose="p")
    broken = bytearray(getattr(sealed, field))
    broken[-1] ^= 1
    with pytest.raises(SecretUnreadable):
        unseal(MASTER, replace(sealed, **{field: bytes(broken)}), owner="clu_1", purpose="p")


def test_it_refuses_a_short_master_key_and_hides_the_key() -> None:
    with pytest.raises(ValueError, match="32 bytes"):
        MasterKey(b"short")
    assert "mmm" not in repr(MASTER)
