import socket
from pathlib import Path

import pytest

from infra.local import ports


@pytest.fixture
def taken() -> int:
    with socket.socket() as listener:
        listener.bind((ports.LOOPBACK, 0))
        return int(listener.getsockname()[1])


def test_a_port_with_a_listener_is_taken_also_when_it_listens_everywhere() -> None:
    with socket.socket() as listener:
        listener.bind(("0.0.0.0", 0))
        listener.listen()
        assert not ports.is_free(listener.getsockname()[1])


def test_the_remembered_port_wins_over_the_preferred_one(taken: int) -> None:
    chosen = ports.choose(["console"], remembered={"console": taken}, preferred={"console": 1})
    assert chosen == {"console": taken}


def test_another_port_is_chosen_when_the_preferred_one_is_taken() -> None:
    with socket.socket() as listener:
        listener.bind((ports.LOOPBACK, 0))
        listener.listen()
        taken = listener.getsockname()[1]
        chosen = ports.choose(["console"], remembered={}, preferred={"console": taken})
    assert chosen["console"] != taken
    assert ports.is_free(chosen["console"])


def test_no_two_names_share_a_port_even_if_they_once_did(taken: int) -> None:
    names = ["console", "api", "enrol", "prometheus"]
    chosen = ports.choose(names, remembered=dict.fromkeys(names, taken), preferred={})
    assert len(set(chosen.values())) == len(names)


def test_remembered_ports_are_read_back_and_damage_is_forgotten(tmp_path: Path) -> None:
    file = tmp_path / "ports.json"
    assert ports.read(file) == {}
    ports.write(file, {"console": 8080})
    assert ports.read(file) == {"console": 8080}
    file.write_text('{"console": 8080, "enrol": "x", "api": 99999')
    assert ports.read(file) == {}
    file.write_text('{"console": 8080, "enrol": "x", "api": 99999}')
    assert ports.read(file) == {"console": 8080}
