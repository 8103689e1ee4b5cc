import sys
from pathlib import Path

import pytest

from infra.local import testing
from infra.local.testing import Part

GOOD = '<testsuite><testcase name="a"/><testcase name="b"/></testsuite>'


def part(folder: Path, name: str, report: str | None, code: int) -> Part:
    path = folder / f"{name}.xml"
    program = f"import sys; sys.exit({code})"
    if report is not None:
        program = f"open({str(path)!r}, 'w').write({report!r}); " + program
    return Part(name, (sys.executable, "-c", program), folder, path)


def test_all_parts_run_and_the_last_line_adds_them_up(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    failing = '<testsuite><testcase name="c"><failure/></testcase><testcase name="d"><skipped/></testcase></testsuite>'
    listing = [part(tmp_path, "bad", failing, 1), part(tmp_path, "good", GOOD, 0)]
    assert testing._run_all(listing, {}, tmp_path / "summary") == 1
    assert capfd.readouterr().out.splitlines()[-1] == "2 passed, 1 failed, 1 skipped"
    assert (tmp_path / "summary").read_text() == "2 passed, 1 failed, 1 skipped\n"


def test_success_needs_every_part_to_succeed(tmp_path: Path) -> None:
    assert testing._run_all([part(tmp_path, "good", GOOD, 0)], {}, tmp_path / "summary") == 0


@pytest.mark.parametrize(("report", "code"), [(GOOD, 4), (None, 0), (None, 1), ("<broken", 0)])
def test_a_runner_that_did_not_get_to_its_end_is_a_failure(tmp_path: Path, report: str | None, code: int) -> None:
    assert testing._run_all([part(tmp_path, "odd", report, code)], {}, tmp_path / "summary") == 1
    assert "1 failed" in (tmp_path / "summary").read_text()


def test_a_part_runs_beside_the_next_and_is_counted(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Each waits until the other has begun."""
    listing = []
    for name, other in (("one", "two"), ("two", "one")):
        program = (
            "import pathlib, sys, time\n"
            f"pathlib.Path({str(tmp_path / name)!r}).touch()\n"
            "until = time.monotonic() + 20\n"
            f"while not pathlib.Path({str(tmp_path / other)!r}).exists():\n"
            "    if time.monotonic() > until: sys.exit(3)\n"
            "    time.sleep(0.01)\n"
            f"open({str(tmp_path / (name + '.xml'))!r}, 'w').write({GOOD!r})"
        )
        report = tmp_path / f"{name}.xml"
        listing.append(Part(name, (sys.executable, "-c", program), tmp_path, report, beside=name == "one"))
    assert testing._run_all(listing, {}, tmp_path / "summary") == 0
    assert capfd.readouterr().out.splitlines()[-1] == "4 passed, 0 failed, 0 skipped"
