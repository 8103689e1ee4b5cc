"""What the bake promises of jars and manifests. Real bakes are part of `make setup`; the ring test uses them."""

import hashlib
import subprocess
from pathlib import Path

import pytest
from baking import jars, rehearsal
from baking.java import BakeError

HERE = Path(__file__).parent


@pytest.fixture
def lib(tmp_path: Path) -> Path:
    folder = tmp_path / "lib"
    folder.mkdir()
    (folder / "a.jar").write_bytes(b"a")
    (folder / "b.jar").write_bytes(b"b")
    return folder


LOCK = {name: hashlib.sha256(name[:1].encode()).hexdigest() for name in ("a.jar", "b.jar")}


def test_it_accepts_exactly_what_the_lock_lists(lib: Path) -> None:
    assert jars.difference(lib, LOCK) == ""


def test_it_refuses_a_jar_with_another_content(lib: Path) -> None:
    (lib / "b.jar").write_bytes(b"B")
    assert jars.difference(lib, LOCK) == "b.jar has another checksum than the lock file says"


def test_it_refuses_a_jar_too_many_and_one_too_few(lib: Path) -> None:
    (lib / "c.jar").write_bytes(b"c")
    assert jars.difference(lib, LOCK) == "c.jar is not in the lock file"
    (lib / "a.jar").unlink()
    assert jars.difference(lib, LOCK) == "a.jar is missing"


def test_it_names_the_versions_it_knows() -> None:
    with pytest.raises(BakeError, match=r"Known versions: 5\.0\.5, 5\.0\.9"):
        jars.read_lock(HERE / "versions" / "4.0.0.lock")


def test_it_exits_with_one_line_when_the_version_is_unknown(tmp_path: Path) -> None:
    done = subprocess.run([str(HERE / "bake"), "4.0.0", str(tmp_path)], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == "bake: There is no lock file for version 4.0.0. Known versions: 5.0.5, 5.0.9.\n"


@pytest.mark.parametrize("lock", sorted((HERE / "versions").glob("*.lock")), ids=lambda path: path.stem)
def test_every_lock_lists_its_engine_and_nothing_twice(lock: Path) -> None:
    listed = jars.read_lock(lock)
    assert f"cassandra-all-{lock.stem}.jar" in listed
    assert len(listed) == len(lock.read_text().splitlines())
    assert all(len(digest) == 64 and int(digest, 16) > 0 for digest in listed.values())


def test_rehearsal_nodes_share_no_address_and_no_token(tmp_path: Path) -> None:
    first, second = rehearsal.two_nodes(tmp_path)
    assert first.address != second.address
    assert first.seeds == second.seeds == (first.address, second.address)
    assert not set(first.tokens) & set(second.tokens)
    assert all(-(2**63) <= token < 2**63 for token in first.tokens + second.tokens)
