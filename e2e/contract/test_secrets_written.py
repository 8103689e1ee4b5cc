"""The search for secrets in what was written finds them, and nothing that lies where it belongs."""

import json
from pathlib import Path

from e2e.secrets_written import _words, search

KNOWN = {"correct horse battery": "admin-password of clu_1"}


def test_a_secret_is_found_in_text_and_between_bytes_and_not_shown(tmp_path: Path) -> None:
    (tmp_path / "log").mkdir()
    (tmp_path / "log" / "api.log").write_text("one\npassword=correct horse battery here\n")
    (tmp_path / "postgres").write_bytes(b"\x00\xffcorrect horse battery\x00")
    (tmp_path / "secrets").mkdir(mode=0o700)
    (tmp_path / "secrets" / "credentials.json").write_text("correct horse battery")
    found = list(search(tmp_path, KNOWN))
    assert [(each.file, each.what) for each in found] == [
        ("log/api.log", "admin-password of clu_1"),
        ("postgres", "admin-password of clu_1"),
    ]
    assert "password=<here> here" in found[0].around
    assert "horse" not in "".join(each.around for each in found)


def test_a_file_of_secrets_that_others_can_read_is_found(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    (tmp_path / "secrets").mkdir(mode=0o755)
    key = tmp_path / "secrets" / "master.key"
    key.write_text("correct horse battery")
    key.chmod(0o644)
    assert [each.around for each in search(tmp_path, KNOWN)] == ["others can read it"]
    key.chmod(0o600)
    assert list(search(tmp_path, KNOWN)) == []


def test_tokens_and_private_keys_are_found_by_their_shape(tmp_path: Path) -> None:
    (tmp_path / "worker.log").write_text(f"rmt_{'a' * 43}\n-----BEGIN EC PRIVATE KEY-----\n")
    assert [each.what for each in search(tmp_path, KNOWN)] == ["an API token", "a private key"]


def test_secrets_are_looked_for_as_they_would_be_written() -> None:
    pem = "-----BEGIN PRIVATE KEY-----\nMIGHAgEA\nthe-second-line\nthe-last\n-----END PRIVATE KEY-----\n"
    assert dict(_words(pem.encode(), "key")) == {"the-second-line": "key"}
    assert dict(_words(json.dumps({"a": ["long enough", "short"]}).encode(), "x")) == {"long enough": "x"}
    address = {"url": "https://hooks.example/T012/B345?key=abc", "other": "https://hooks.example"}
    assert dict(_words(json.dumps(address).encode(), "x")) == {"/T012/B345?key=abc": "x"}
    assert dict(_words(b"\xff" * 9, "key")) == {"////////////": "key"}
