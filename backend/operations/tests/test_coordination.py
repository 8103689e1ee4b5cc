"""The table of which operations go together is whole, makes sense, and stands in the documentation."""

import itertools
from pathlib import Path

import pytest

from backend.operations import coordination
from backend.operations.coordination import CLASSES, EXCLUSIVE, TABLE, Class, Rule, Standing, Verdict, rule
from backend.operations.states import TITLES

DOCUMENT = Path(__file__).resolve().parents[3] / "docs" / "operations.md"


def verdict(running: str, wanted: str) -> Verdict:
    return rule(running, wanted).verdict


def test_every_pair_of_classes_has_a_rule():
    assert set(TABLE) == set(itertools.product(Class, Class))


def test_every_kind_has_a_class_and_words():
    assert set(CLASSES) == set(TITLES)


@pytest.mark.parametrize("found", [*TABLE.values(), *coordination.EXCEPTIONS.values()])
def test_every_reason_is_a_sentence_for_people(found: Rule):
    assert found.reason[0].isupper()
    assert found.reason.endswith(".")
    assert "{" not in found.reason


def test_what_the_database_keeps_apart_the_table_refuses():
    for running, wanted in itertools.product(EXCLUSIVE, EXCLUSIVE):
        assert TABLE[running, wanted].verdict is Verdict.REFUSE


@pytest.mark.parametrize("wanted", sorted(CLASSES))
def test_nothing_starts_during_an_upgrade_but_changes_of_access_and_looks(wanted: str):
    may = CLASSES[wanted] in (Class.ACCESS, Class.LOOK)
    assert (verdict("upgrade_cluster", wanted) is Verdict.TOGETHER) == may


def test_replace_beats_repair_and_backup_waits_for_scale():
    assert verdict("repair", "replace_node") is Verdict.MAKE_WAY
    assert verdict("backup", "replace_node") is Verdict.MAKE_WAY
    assert verdict("backup", "scale_cluster") is Verdict.WAIT
    assert verdict("scale_cluster", "backup") is Verdict.WAIT


def test_a_deletion_is_refused_while_something_exclusive_runs_and_sends_the_others_aside():
    assert verdict("scale_cluster", "delete_cluster") is Verdict.REFUSE
    assert {verdict(kind, "delete_cluster") for kind in ("repair", "backup")} == {Verdict.MAKE_WAY}


def test_reading_goes_with_every_change_of_access():
    assert verdict("read_access", "change_access") is Verdict.TOGETHER
    assert verdict("change_access", "read_access") is Verdict.TOGETHER
    assert verdict("change_access", "change_access") is Verdict.WAIT
    assert verdict("rotate_credentials", "rotate_credentials") is Verdict.REFUSE


def test_a_kind_nobody_listed_goes_with_others_unless_both_are_exclusive():
    assert rule("polish", "repair").verdict is Verdict.TOGETHER
    assert rule("polish", "scale_cluster", both_exclusive=True).verdict is Verdict.REFUSE
    assert coordination.is_exclusive("polish", otherwise=False) is False
    assert coordination.is_exclusive("repair", otherwise=True) is False


def test_what_cannot_be_paused_is_waited_for():
    repair = standing(1, "repair", pausable=False, going=True)
    found = coordination.between(repair, standing(2, "replace_node"))
    assert found.verdict is Verdict.WAIT
    assert "cannot be paused" in found.reason


def standing(number: int, kind: str, *, pausable: bool = True, going: bool = False) -> Standing:
    return Standing(
        id=f"op_{number}",
        kind=kind,
        exclusive=coordination.is_exclusive(kind),
        pausable=pausable,
        going=going,
        wants_a_turn=not going,
    )


def test_of_those_that_wait_one_can_always_go_and_those_that_go_go_together():
    """Every mix of three kinds in every order of age: begin whoever may, end one, and so on, until none is left."""
    kinds = ["replace_node", "scale_cluster", "upgrade_cluster", "change_access", "repair", "backup", "delete_cluster"]
    for mix in itertools.product(kinds, repeat=3):
        if sum(CLASSES[kind] in EXCLUSIVE for kind in mix) > 1:
            continue
        waiting = [standing(number, kind) for number, kind in enumerate(mix)]
        going: list[Standing] = []
        while waiting or going:
            for me in list(waiting):
                others = [other for other in (*waiting, *going) if other.id != me.id]
                if coordination.in_the_way(me, others) is None:
                    waiting.remove(me)
                    going.append(standing(int(me.id[3:]), me.kind, going=True))
            assert going, f"none of {mix} can go"
            for one, other in itertools.permutations(going, 2):
                assert rule(one.kind, other.kind).verdict is Verdict.TOGETHER
            going.pop()


def test_the_older_goes_first_unless_others_make_way_for_the_younger():
    older, younger = standing(1, "repair"), standing(2, "backup")
    assert coordination.in_the_way(older, [younger]) == younger
    assert coordination.in_the_way(younger, [older]) is None
    first, second = standing(1, "backup"), standing(2, "scale_cluster")
    assert coordination.in_the_way(first, [second]) is None
    assert coordination.in_the_way(second, [first]) == first


def test_what_a_person_has_paused_is_waited_for_where_its_end_counts():
    paused = Standing(id="op_1", kind="backup", exclusive=False, pausable=True, going=False, wants_a_turn=False)
    assert coordination.in_the_way(standing(2, "scale_cluster"), [paused]) == paused
    assert coordination.in_the_way(standing(2, "replace_node"), [paused]) is None


def as_markdown() -> str:
    """The table as docs/operations.md shows it: running down, wanted across."""
    shown = [kind_class for kind_class in Class if kind_class is not Class.CREATE]
    lines = ["| running ↓ wanted → | " + " | ".join(shown) + " |", "|---" * (len(shown) + 1) + "|"]
    lines += [
        f"| {running} | " + " | ".join(TABLE[running, wanted].verdict for wanted in shown) + " |" for running in Class
    ]
    return "\n".join(lines)


def test_the_documentation_shows_this_table_these_classes_and_these_reasons():
    text = DOCUMENT.read_text()
    assert as_markdown() in text, f"docs/operations.md should hold:\n{as_markdown()}"
    for kind_class in Class:
        kinds = ", ".join(f"`{kind}`" for kind, its_class in CLASSES.items() if its_class is kind_class)
        assert f"| {kind_class} | {kinds} |" in text, f"docs/operations.md should hold: | {kind_class} | {kinds} |"
    for (running, wanted), found in [*TABLE.items(), *coordination.EXCEPTIONS.items()]:
        if found.verdict is not Verdict.TOGETHER and wanted is not Class.CREATE:
            line = f"- {running} → {wanted}: {found.reason}"
            assert line in text, f"docs/operations.md should hold: {line}"
