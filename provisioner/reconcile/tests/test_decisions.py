"""Every situation with what is done about it: the rules of healing, one row each."""

from dataclasses import replace
from typing import Any

import pytest

from backend.clusters.models import Cluster, Datacenter, Node
from backend.clusters.states import HealingMode, NodeState
from backend.findings.models import Finding
from provisioner.agent.base import Disk, Status
from provisioner.reconcile.decisions import (
    ONLY_TOLD,
    Decision,
    Nothing,
    PauseHeavyWork,
    Replace,
    Situation,
    StartEngine,
    StartMachine,
    decide,
)
from provisioner.reconcile.looks import Look, MachineFact
from provisioner.reconcile.verdicts import Verdict

ZONES = ["z1", "z2", "z3"]
UP = Status(
    node_id="",
    agent_version="1",
    engine_state="running",
    engine_version="5",
    cql_ready=True,
    restarts=0,
    last_error="",
    ring=None,
)
STOPPED = replace(UP, engine_state="stopped", cql_ready=False)


def situation(code: str, *, zones: int = 3, per_zone: int = 1, **changes: Any) -> Situation:
    """The first of the nodes is what the finding is about; the others are up. Its machine is dead for ten minutes."""
    datacenter = Datacenter(id="dc", zones=ZONES[:zones], region="r")
    cluster = Cluster(id="clu", healing_grace_seconds=300, healing_replacements_per_day=3)
    nodes = [
        Node(id=f"n{number}", name=f"n{number}", zone=ZONES[number % zones], datacenter=datacenter, cluster=cluster)
        for number in range(zones * per_zone)
    ]
    looks = {node.id: Look(node=node, status=UP) for node in nodes}
    verdicts = {node.id: Verdict(NodeState.UP) for node in nodes}
    status, machine, state = {
        "engine-down": (STOPPED, MachineFact.UNKNOWN, NodeState.DOWN),
        "machine-off": (None, MachineFact.STOPPED, NodeState.DOWN),
        "machine-dead": (None, MachineFact.RUNNING, NodeState.DOWN),
        "machine-gone": (None, MachineFact.GONE, NodeState.DOWN),
        "local-data-lost": (STOPPED, MachineFact.UNKNOWN, NodeState.DATA_LOST),
        "disk-filling": (replace(UP, disk=Disk(total_bytes=100, free_bytes=10)), MachineFact.UNKNOWN, NodeState.UP),
    }[code]
    looks["n0"] = Look(node=nodes[0], status=status, machine=machine)
    verdicts["n0"] = Verdict(state)
    made = Situation(
        finding=Finding(code=code, subject="n0"),
        cluster=cluster,
        node=nodes[0],
        nodes=nodes,
        looks=looks,
        verdicts=verdicts,
        age_seconds=600,
    )
    return replace(made, **changes)


def with_state(made: Situation, node_id: str, state: NodeState) -> Situation:
    return replace(made, verdicts={**made.verdicts, node_id: Verdict(state)})


def with_machine(made: Situation, machine: MachineFact) -> Situation:
    return replace(made, looks={**made.looks, "n0": replace(made.look, machine=machine)})


def stop_wanted(made: Situation) -> Situation:
    made.node.stop_wanted = True
    return made


def told_only(made: Situation) -> Situation:
    made.cluster.healing_mode = HealingMode.TELL
    return made


@pytest.mark.parametrize(
    ("made", "decision"),
    [
        # A dead machine.
        (situation("machine-dead"), Replace()),
        (situation("machine-gone"), Replace()),
        (situation("machine-dead", age_seconds=299), Nothing("It is replaced when it has been dead for 300 s.")),
        (situation("machine-gone", age_seconds=20), Nothing("It is replaced when it has been dead for 300 s.")),
        (situation("machine-off", age_seconds=2), StartMachine()),
        (situation("machine-off", age_seconds=299), StartMachine()),
        (situation("machine-off"), Replace()),
        (
            with_machine(situation("machine-off", age_seconds=9), MachineFact.STARTING),
            Nothing("It is replaced when it has been dead for 300 s."),
        ),
        # It came back, or is not known to be dead any more (F-36, F-37): nothing, and health closes the finding.
        (with_state(situation("machine-dead"), "n0", NodeState.UP), Nothing("")),
        (with_state(situation("machine-dead"), "n0", NodeState.UNOBSERVED), Nothing("")),
        # Lost data is not waited for.
        (situation("local-data-lost", age_seconds=0), Replace()),
        (with_state(situation("local-data-lost"), "n0", NodeState.UP), Nothing("")),
        # A dead engine: its agent first, then we, again and again.
        (situation("engine-down", age_seconds=5), Nothing("Its agent starts the engine again by itself.")),
        (situation("engine-down", age_seconds=10), StartEngine(1)),
        (situation("engine-down", age_seconds=59), StartEngine(1)),
        (situation("engine-down", age_seconds=60), StartEngine(2)),
        (situation("engine-down", age_seconds=10**6), StartEngine(5)),
        (with_state(situation("engine-down"), "n0", NodeState.UP), Nothing("")),
        # A disk that fills.
        (situation("disk-filling"), PauseHeavyWork()),
        # What was begun about it goes on.
        (situation("machine-dead", is_being_healed=True, busy_with="replace a node (op)"), Nothing("")),
        # What someone wants is left as it is.
        (told_only(situation("machine-dead")), Nothing(ONLY_TOLD)),
        (told_only(situation("machine-off", age_seconds=1)), Nothing(ONLY_TOLD)),
        (told_only(situation("engine-down")), Nothing(ONLY_TOLD)),
        (told_only(situation("local-data-lost")), Nothing(ONLY_TOLD)),
        (told_only(situation("disk-filling")), Nothing(ONLY_TOLD)),
        # Replicas: with one missing in another zone QUORUM is lost, with one in the same zone it is not.
        (with_state(situation("machine-dead", per_zone=2), "n3", NodeState.DOWN), Replace()),
    ],
)
def test_what_is_done(made: Situation, decision: Decision) -> None:
    assert decide(made) == decision


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (stop_wanted(situation("machine-dead")), "Someone stopped this node"),
        (stop_wanted(situation("engine-down")), "Someone stopped this node"),
        (with_machine(situation("machine-dead"), MachineFact.UNKNOWN), "its provider does not answer"),
        (situation("machine-dead", busy_with="repair (op_1)"), "waits for another operation: repair (op_1)"),
        (situation("machine-dead", worked_on=True, busy_with="upgrade (op_1)"), "Left to the operation"),
        (situation("machine-dead", replaced_today=3), "3 nodes of this cluster were replaced"),
        (situation("local-data-lost", replaced_today=3), "3 nodes of this cluster were replaced"),
        (situation("machine-dead", zone_lost=True), "most nodes in z1 are dead"),
        # F-31: another one has died in another zone.
        (
            with_state(situation("machine-dead", per_zone=2), "n1", NodeState.DOWN),
            "1 of 3 replicas of some rows are up and QUORUM needs 2",
        ),
        (with_state(situation("machine-dead", per_zone=2), "n1", NodeState.UNOBSERVED), "1 of 3 replicas"),
        (with_state(situation("machine-dead"), "n1", NodeState.DOWN), "only 1 of 3 nodes are seen to be up"),
        # One or two replicas: nothing to copy from, or nothing to compare with.
        (situation("machine-dead", zones=1, per_zone=3), "0 of 1 replicas"),
        (situation("machine-dead", zones=2, per_zone=2), "1 of 2 replicas"),
        (situation("machine-dead", zones=1), "only 0 of 1 nodes"),
    ],
)
def test_why_nothing_is_done(made: Situation, words: str) -> None:
    decision = decide(made)
    assert isinstance(decision, Nothing)
    assert words in decision.why
