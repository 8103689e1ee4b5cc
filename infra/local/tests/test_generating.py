from pathlib import Path

import pytest

from infra.local import generating
from infra.local.generating import GenerateError, Generator
from infra.local.layout import Layout, layout


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file that is generated from another by `tr`; returns the generated one."""
    source, made = tmp_path / "source", tmp_path / "made"
    source.write_text("words\n")
    command = ("sh", "-c", f"tr a-z A-Z > {made}")
    generator = Generator("shouting", command, tmp_path, (made,), source=("cat", str(source)))
    monkeypatch.setattr(generating, "generators", lambda place: [generator])
    return made


@pytest.fixture
def place() -> Layout:
    return layout({})


def test_a_file_as_generated_is_up_to_date(made: Path, place: Layout) -> None:
    generating.generate(place)
    assert made.read_text() == "WORDS\n"
    assert generating.out_of_date(place) == ""


def test_a_file_that_differs_is_named_and_left_as_it_is(made: Path, place: Layout) -> None:
    made.write_text("edited by hand\n")
    assert generating.out_of_date(place) == f"{made} is not what `make generate` makes"
    assert made.read_text() == "edited by hand\n"


def test_a_file_that_was_never_generated_is_named_and_not_left_behind(made: Path, place: Layout) -> None:
    assert str(made) in generating.out_of_date(place)
    assert not made.exists()


def test_a_generator_that_fails_says_why(tmp_path: Path, place: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = Generator("broken", ("sh", "-c", "echo reason >&2; exit 3"), tmp_path, ())
    monkeypatch.setattr(generating, "generators", lambda place: [broken])
    with pytest.raises(GenerateError, match=r"broken: sh -c .*\nreason"):
        generating.generate(place)
    assert "reason" in generating.out_of_date(place)
