import json
from pathlib import Path

import pytest

from infra.local import summary
from infra.local.summary import Count, ReportError

JUNIT = """<?xml version="1.0"?>
<testsuites><testsuite>
  <testcase name="a"/><testcase name="b"><failure message="no"/></testcase>
  <testcase name="c"><skipped/></testcase><testcase name="d"><error/></testcase>
</testsuite><testsuite><testcase name="e"><system-out>said</system-out></testcase></testsuite></testsuites>
"""


def test_it_counts_the_cases_of_every_suite_in_a_junit_report(tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    report.write_text(JUNIT)
    assert summary.read(report) == Count(passed=2, failed=2, skipped=1)


@pytest.mark.parametrize(("last", "count"), [("", Count(passed=1)), ("<failure/>", Count(failed=1))])
def test_a_test_that_was_run_again_counts_once(tmp_path: Path, last: str, count: Count) -> None:
    report = tmp_path / "report.xml"
    once = '<testcase classname="m" name="a"/>'
    report.write_text(f'<testsuite>{once}<testcase classname="m" name="a">{last}</testcase></testsuite>')
    assert summary.read(report) == count


def test_it_counts_gos_tests_but_not_the_parents_of_subtests(tmp_path: Path) -> None:
    report = tmp_path / "report.jsonl"
    report.write_text(
        events(
            ("pass", "agent", "TestTable/one"),
            ("fail", "agent", "TestTable/two"),
            ("fail", "agent", "TestTable"),
            ("skip", "agent", "TestOther"),
            ("fail", "agent", None),
        )
        + "# not an event\n"
    )
    assert summary.read(report) == Count(passed=1, failed=1, skipped=1)


def test_a_go_package_that_does_not_build_is_one_failure(tmp_path: Path) -> None:
    report = tmp_path / "report.jsonl"
    report.write_text(events(("pass", "good", "TestIt"), ("pass", "good", None), ("fail", "broken", None)))
    assert summary.read(report) == Count(passed=1, failed=1)


@pytest.mark.parametrize("text", [None, "<testsuites><testsuite>"])
def test_a_missing_or_damaged_report_is_no_success(tmp_path: Path, text: str | None) -> None:
    report = tmp_path / "report.xml"
    if text is not None:
        report.write_text(text)
    with pytest.raises(ReportError):
        summary.read(report)


def test_counts_add_up_to_the_line_that_ci_shows() -> None:
    assert str(Count(1, 2, 3) + Count(10, 0, 1)) == "11 passed, 2 failed, 4 skipped"


def events(*ended: tuple[str, str, str | None]) -> str:
    lines = [
        {"Action": action, "Package": package, **({"Test": test} if test else {})} for action, package, test in ended
    ]
    return "".join(json.dumps(line) + "\n" for line in lines)
