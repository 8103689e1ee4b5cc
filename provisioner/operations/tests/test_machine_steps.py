"""What a machine is told when it is made."""

import json
from typing import Any

import pytest

from provisioner.agent.schema import UserData
from provisioner.operations.tests.cluster_world import ClusterWorld, cluster_world
from provisioner.providers.base import Machine, MachineSpec

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_machine_of_its_own_is_told_what_its_disks_are_for(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[dict[str, Any]] = []
    with cluster_world(ClusterWorld.create) as world:
        ensure = world.provider.ensure_machine

        def listening(spec: MachineSpec) -> Machine:
            told.append(json.loads(spec.user_data))
            return ensure(spec)

        monkeypatch.setattr(world.provider, "ensure_machine", listening)
        world.created()
    assert len(told) == 3
    for user_data in told:
        assert user_data["machine"] == {
            "engine": "cassandra",
            "membership": "new",
            "generation": 1,
            "provider": "fake",
        }
        # As the agent reads it; the machine adds its own addresses.
        UserData.model_validate({"address": "", "listen": "", "engine_cache": ""} | user_data)
