"""The rules of the membership monitor, on made-up moments: safe changes pass, and every unsafe one is told."""

from dataclasses import replace

import pytest

from e2e.trials.membership_monitor import Judge, Member, Moment, Status, View, agreed

A, B, C, D, E = (f"127.1.0.{number}" for number in range(1, 6))
NORMAL = Status("NORMAL", "-1")


def ring(*addresses: str) -> dict[str, Member]:
    return {f"host of {address}": Member(address, (int(address[-1]),)) for address in addresses}


def moment(*members: str, machines: str | tuple[str, ...] = (), **statuses: Status) -> Moment:
    """All members run and agree; `a_d=Status(...)`: A says that of D, `all_d`: everybody does."""
    words = {"a": A, "b": B, "c": C, "d": D, "e": E}
    views = {}
    for address in members:
        known = dict.fromkeys(members, NORMAL)
        for who, status in statuses.items():
            observer, about = who.split("_")
            if observer == "all" or words[observer] == address:
                known[words[about]] = status
        views[address] = View(ring(*members), known)
    present = {f"machine of {address}": address for address in {*members, *machines}}
    return Moment(at=0.0, views=views, machines=present, powered=frozenset(present))


def judged(*moments: Moment) -> list[str]:
    judge = Judge()
    for number, one in enumerate(moments):
        judge.see(replace(one, at=float(number)))
    return [text.split(": ", 1)[1] for text in judge.violations]


JOINS_D = moment(A, B, C, machines=(D, E), all_d=Status("BOOT", "4"))
LEAVES_C = moment(A, B, C, all_c=Status("LEAVING", "3"))


def test_joining_one_after_another_with_agreement_between_is_safe() -> None:
    joins_e = moment(A, B, C, D, machines=(E,), all_e=Status("BOOT", "5"))
    assert judged(moment(A, B, C), JOINS_D, moment(A, B, C, D), joins_e, moment(A, B, C, D, E)) == []


def test_two_joining_at_once_is_told_even_when_different_nodes_see_them() -> None:
    both = moment(A, B, C, machines=(D, E), a_d=Status("BOOT", "4"), b_e=Status("BOOT", "5"))
    assert judged(moment(A, B, C), both, both) == [f"two membership changes at once: {D}, {E}"]


def test_a_node_that_joins_while_another_leaves_is_told() -> None:
    both = moment(A, B, C, machines=(D,), all_d=Status("BOOT", "4"), all_c=Status("LEAVING", "3"))
    assert judged(moment(A, B, C), LEAVES_C, both) == [f"two membership changes at once: {C}, {D}"]


def without_news_of_d(whole: Moment) -> Moment:
    """A has not heard yet that D is a member."""
    return replace(whole, views={**whole.views, A: View(ring(A, B, C), whole.views[A].statuses)})


def test_a_change_before_all_agree_on_the_one_before_is_told() -> None:
    joins_e = without_news_of_d(moment(A, B, C, D, machines=(E,), all_e=Status("BOOT", "5")))
    found = judged(moment(A, B, C), JOINS_D, joins_e, joins_e)
    differing = "; ".join(f"{other} and {A} differ in {D}" for other in (B, C, D))
    assert found == [f"{E} began to change before all live nodes agreed on the ring: {differing}"]


def test_a_change_after_all_agree_is_safe_even_when_the_agreement_fell_between_two_looks() -> None:
    joins_e = moment(A, B, C, D, machines=(E,), all_e=Status("BOOT", "5"))
    assert judged(moment(A, B, C), JOINS_D, without_news_of_d(moment(A, B, C, D)), joins_e, joins_e) == []


def test_what_a_slow_node_told_before_the_next_change_began_is_not_held_against_it() -> None:
    old_and_new = moment(A, B, C, D, machines=(E,), a_d=Status("BOOT", "4"), b_e=Status("BOOT", "5"))
    joins_e = moment(A, B, C, D, machines=(E,), all_e=Status("BOOT", "5"))
    assert judged(moment(A, B, C), JOINS_D, old_and_new, joins_e) == []


def test_a_running_member_that_does_not_answer_has_not_agreed() -> None:
    silent = moment(A, B, C, D)
    silent = replace(silent, views={address: view for address, view in silent.views.items() if address != B})
    assert not agreed(silent)
    off = replace(silent, powered=silent.powered - {f"machine of {B}"})
    assert agreed(off)


def test_a_node_that_leaves_by_itself_keeps_its_machine_to_the_end() -> None:
    left = moment(A, B, machines=(C,), all_c=Status("LEFT", "3"))
    assert judged(moment(A, B, C), LEAVES_C, left, moment(A, B)) == []


@pytest.mark.parametrize("word", ["removing", "removed"])
def test_removing_a_node_whose_machine_exists_is_told(word: str) -> None:
    found = judged(moment(A, B, C), moment(A, B, machines=(C,), all_c=Status(word, "3")))
    assert f"{C} is removed from the ring while its machine machine of {C} exists" in found


def test_removing_a_node_whose_machine_is_terminated_is_safe() -> None:
    removing = moment(A, B, all_c=Status("removing", "3"))
    assert judged(moment(A, B, C), removing, moment(A, B)) == []


def test_replacing_a_node_whose_machine_is_only_switched_off_is_told() -> None:
    replacing = moment(A, B, machines=(C, D), all_d=Status("BOOT_REPLACE", f"{C}:7000"))
    off = replace(replacing, powered=replacing.powered - {f"machine of {C}"})
    assert f"{C} is replaced by {D} while its machine machine of {C} exists" in judged(moment(A, B, C), off)


def test_replacing_a_node_whose_machine_is_terminated_is_safe() -> None:
    replacing = moment(A, B, machines=(D,), all_d=Status("BOOT_REPLACE", f"{C}:7000"))
    assert judged(moment(A, B, C), replacing, moment(A, B, D)) == []


def test_a_member_that_disappears_without_leaving_while_its_machine_exists_is_told() -> None:
    found = judged(moment(A, B, C), moment(A, B, machines=(C,)))
    assert found == [f"{C} is no longer in the ring while its machine machine of {C} exists"]


def test_two_membership_operations_at_once_are_told() -> None:
    at_work = replace(moment(A, B, C), operations=("scale_cluster", "rolling_restart", "replace_node"))
    assert judged(at_work) == ["two operations change who is a member: replace_node, scale_cluster"]


def test_two_nodes_down_at_once_are_told_and_one_is_not() -> None:
    whole = moment(A, B, C)
    one = replace(whole, refusing=frozenset({A}))
    both = replace(one, powered=whole.powered - {f"machine of {B}"})
    assert judged(whole, one, whole) == []
    assert judged(whole, one, both) == [f"two nodes down at once: {A}, {B}"]


def test_every_change_that_begins_is_remembered_once_also_of_an_address_that_comes_again() -> None:
    judge = Judge()
    leaves_d = moment(A, B, C, D, all_d=Status("LEAVING", "4"))
    left = moment(A, B, C, all_d=Status("LEFT", "4"))
    for one in (moment(A, B, C), JOINS_D, JOINS_D, moment(A, B, C, D), leaves_d, left, JOINS_D, moment(A, B, C, D)):
        judge.see(one)
    assert judge.changes == [(D, "BOOT"), (D, "LEAVING"), (D, "BOOT")]
    assert judge.violations == []
