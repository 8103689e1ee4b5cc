from pathlib import Path

from infra.local import stamps


def test_a_fingerprint_changes_with_contents_names_and_facts_only(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    (source / "a.py").write_text("one")
    first = stamps.fingerprint([source], facts=["1"])
    (source / "__pycache__").mkdir()
    (source / "__pycache__" / "a.pyc").write_text("compiled")
    assert stamps.fingerprint([source], facts=["1"]) == first
    assert stamps.fingerprint([source], facts=["2"]) != first
    (source / "a.py").rename(source / "b.py")
    renamed = stamps.fingerprint([source], facts=["1"])
    assert renamed != first
    (source / "b.py").write_text("two")
    assert stamps.fingerprint([source], facts=["1"]) not in {first, renamed}


def test_a_step_is_current_only_while_its_stamp_and_its_outputs_are_there(tmp_path: Path) -> None:
    output = tmp_path / "made"
    output.write_text("")
    assert not stamps.is_current(tmp_path / "stamps", "step", "x", [output])
    stamps.record(tmp_path / "stamps", "step", "x")
    assert stamps.is_current(tmp_path / "stamps", "step", "x", [output])
    assert not stamps.is_current(tmp_path / "stamps", "step", "y", [output])
    output.unlink()
    assert not stamps.is_current(tmp_path / "stamps", "step", "x", [output])
    output.write_text("")
    stamps.forget(tmp_path / "stamps", "step")
    assert not stamps.is_current(tmp_path / "stamps", "step", "x", [output])
