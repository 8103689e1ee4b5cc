"""The campaign's monitor complains of what is not safe, and of nothing else."""

from provisioner.tests.chaos_membership import Judge

A, B, C = "10.1.0.1:7443", "10.2.0.1:7443", "10.3.0.1:7443"


def ring(**members: str) -> dict[str, dict[str, str]]:
    """`a=NORMAL` is a member at address A."""
    addresses = {"a": A, "b": B, "c": C}
    return {
        host: {"state": state.partition("@")[0], "agent_address": state.partition("@")[2] or addresses[host]}
        for host, state in members.items()
    }


def complaints(*looks: dict[str, dict[str, str]], there: tuple[str, ...] = (A, B, C)) -> list[str]:
    judge = Judge(is_there=there.__contains__)
    for look in looks:
        judge.look("demo", look)
    return judge.complaints


def test_one_change_after_the_other_is_safe() -> None:
    joined = ring(a="NORMAL", b="NORMAL")
    assert complaints(ring(a="NORMAL"), ring(a="NORMAL", b="JOINING"), joined, ring(a="NORMAL", b="LEAVING")) == []
    assert complaints(joined, ring(a="NORMAL", b="LEAVING"), ring(a="NORMAL")) == []


def test_two_changes_at_once_are_not() -> None:
    found = complaints(ring(a="NORMAL"), ring(a="NORMAL", b="JOINING"), ring(a="NORMAL", b="JOINING", c="JOINING"))
    assert any("at once" in complaint for complaint in found)
    assert any("before the one before was over" in complaint for complaint in found)


def test_a_dead_node_goes_only_after_its_machine() -> None:
    removed = (ring(a="NORMAL", b="NORMAL"), ring(a="NORMAL"))
    assert complaints(*removed, there=(A,)) == []
    assert complaints(*removed) == [f"demo: {B} was taken out while its machine was there"]


def test_so_does_one_whose_place_is_taken() -> None:
    replaced = (ring(a="NORMAL", b="NORMAL"), ring(a="NORMAL", b=f"NORMAL@{C}"))
    assert complaints(*replaced, there=(A, C)) == []
    assert complaints(*replaced) == [f"demo: {B} was taken out while its machine was there"]
