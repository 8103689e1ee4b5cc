"""One region of the emulated cloud: moto's, and what moto does not do."""

import base64
import binascii
import hashlib
import json
import time
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from moto.core.models import DEFAULT_ACCOUNT_ID
from moto.core.request import Request
from moto.ec2.models import ec2_backends
from moto.ec2.models.instance_types import INSTANCE_TYPES
from moto.ec2.responses import EC2Response

from provisioner.providers.aws_emulator import answers
from provisioner.providers.aws_emulator.answers import Answer
from provisioner.providers.aws_emulator.boots import BootedInstance, BootHook, Handle
from provisioner.providers.aws_emulator.parameters import indexed, tag_specification
from provisioner.providers.aws_emulator.placement import PlacementGroups

_ALIVE = ("pending", "running")
_TAKES_A_TOKEN = ("CreateVpcEndpoint",)


@dataclass(frozen=True, kw_only=True)
class Pace:
    """How slow the cloud is. Seconds; `unseen_describes`: so many listings do not show what was just made."""

    boot_seconds: float = 0.0
    end_seconds: float = 0.0
    forget_seconds: float = 3600.0
    unseen_describes: int = 0


@dataclass
class _Token:
    parameters: str
    instance: str
    answer: Answer | None = None


@dataclass
class _Unseen:
    """Something that was made and is not shown yet, in the dictionary of moto that holds it."""

    action: str
    holder: MutableMapping[str, Any]
    key: str
    left: int


@dataclass
class Region:
    name: str
    pace: Pace
    vcpu_quota: float
    hook: BootHook | None = None
    launches: list[tuple[str, str]] = field(default_factory=list)
    doubles: list[str] = field(default_factory=list)
    events: dict[str, list[dict[str, str]]] = field(default_factory=dict)
    placement: PlacementGroups = field(default_factory=PlacementGroups)

    def __post_init__(self) -> None:
        self.moto: Any = ec2_backends[DEFAULT_ACCOUNT_ID][self.name]
        self._tokens: dict[str, _Token] = {}
        self._unseen: list[_Unseen] = []
        self._due: list[tuple[float, str, str]] = []
        self._handles: dict[str, Handle] = {}
        self._own: dict[str, Callable[[Mapping[str, str]], Answer]] = {
            "CreatePlacementGroup": self.placement.create,
            "DeletePlacementGroup": self.placement.delete,
            "DescribePlacementGroups": self.placement.describe,
            "RunInstances": self._run_instances,
            "StartInstances": self._start_instances,
            "StopInstances": self._stop_instances,
            "TerminateInstances": self._terminate_instances,
            "DescribeInstanceStatus": self._describe_instance_status,
            "CreateVpc": self._create_vpc,
            "DeleteVpc": self._delete_vpc,
            "DeleteSubnet": self._delete_subnet,
            "DeleteSecurityGroup": self._delete_security_group,
        }

    def answer(self, action: str, form: Mapping[str, str]) -> Answer:
        self.tick()
        if action in _TAKES_A_TOKEN and "ClientToken" in form:
            return self._once(action, form)
        own = self._own.get(action)
        if own is not None:
            return own(form)
        with self._hiding(action):
            return self._by_moto(form)

    def tick(self) -> None:
        """Let happen what is due: boots, and ends of instances that are shutting down."""
        now = time.monotonic()
        due = [entry for entry in self._due if entry[0] <= now]
        self._due = [entry for entry in self._due if entry[0] > now]
        for _, what, instance_id in sorted(due):
            instance = self.moto.get_instance_by_id(instance_id)
            if what == "boot" and instance is not None and instance.state == "pending":
                _set_state(instance, "running", 16)
                self._power_on(instance)
            elif what == "end" and instance is not None:
                _set_state(instance, "terminated", 48)
            elif what == "forget" and instance is not None:
                self._forget(instance)

    def end(self) -> None:
        """The cloud goes away, and all that runs on it."""
        for handle in self._handles.values():
            handle.destroy()
        self._handles.clear()

    def leftovers(self) -> list[str]:
        """Everything that exists and that moto did not make itself."""
        moto = self.moto
        alive = [one.id for one in moto.all_instances() if one.state != "terminated"]
        made = {vpc.id for vpc in moto.vpcs.values() if str(vpc.is_default).lower() != "true"}
        subnets = [one.id for zone in moto.subnets.values() for one in zone.values() if one.vpc_id in made]
        groups = [one for groups in moto.groups.values() for one in groups.values() if one.name != "default"]
        peerings = [
            one.id for one in moto.vpc_pcxs.values() if one.status["Code"] not in ("deleted", "rejected", "expired")
        ]
        found = {
            "instance": alive,
            "volume": list(moto.volumes),
            "interface": list(moto.enis),
            "address": list(moto.addresses),
            "subnet": subnets,
            "gateway": list(moto.internet_gateways),
            "group": [group.id for group in groups],
            "rack": list(self.placement.groups),
            "vpc": sorted(made),
            "endpoint": [one.id for one in moto.vpc_end_points.values() if one.state != "deleted"],
            "peering": peerings,
        }
        return [f"{kind} {name}" for kind, names in found.items() for name in names]

    def _by_moto(self, form: Mapping[str, str]) -> Answer:
        request = Request.from_primitives(
            "POST",
            f"https://ec2.{self.name}.amazonaws.com/",
            {"Content-Type": "application/x-www-form-urlencoded; charset=utf-8"},
            urlencode(form).encode(),
        )
        status, headers, body = EC2Response.dispatch(request, request.raw_url, request.headers)
        content = body.encode() if isinstance(body, str) else body
        return Answer(int(headers.get("status", status)), content)

    def _run_instances(self, form: Mapping[str, str]) -> Answer:
        """Once per token: the same parameters give the same instance, others are a mismatch."""
        token, wanted = form.get("ClientToken", ""), _parameters(form)
        before = self._tokens.get(token) if token else None
        if before is not None:
            if before.parameters != wanted:
                return answers.error("IdempotentParameterMismatch", "The token was used with other parameters")
            described = self._by_moto(_describing(before.instance))
            return answers.as_launch(described.body) if described.status == 200 else described
        refused = self._launch_refusal(form)
        if refused is not None:
            return refused
        known = {one.id for one in self.moto.all_instances()}
        answer = self._by_moto(form)
        if answer.status != 200:
            return answer
        for instance in self.moto.all_instances():
            if instance.id not in known:
                if token:
                    self._tokens[token] = _Token(wanted, instance.id)
                self._launched(instance, form)
        return answer

    def _launch_refusal(self, form: Mapping[str, str]) -> Answer | None:
        image, kind = form.get("ImageId", ""), form.get("InstanceType", "m1.small")
        if image not in self.moto.amis:
            return answers.error("InvalidAMIID.NotFound", f"The image id '[{image}]' does not exist")
        if self.moto.amis[image].architecture not in _architectures(kind):
            return answers.error("InvalidParameterValue", f"{image} is not for the processor of {kind}")
        used = sum(_vcpus(one.instance_type) for one in self.moto.all_instances() if one.state in _ALIVE)
        if used + _vcpus(kind) * int(form.get("MinCount", "1")) > self.vcpu_quota:
            return answers.error("VcpuLimitExceeded", f"You have requested more vCPU capacity than {self.vcpu_quota}")
        group = form.get("Placement.GroupName")
        if group is not None:
            return self.placement.refusal(group, form.get("Placement.AvailabilityZone", ""))
        return None

    def _launched(self, instance: Any, form: Mapping[str, str]) -> None:
        instance.cpu_options = {"CoreCount": _vcpus(instance.instance_type), "ThreadsPerCore": 1}
        tags = tag_specification(form, "instance")
        name = tags.get("Name", instance.id)
        self.launches.append((name, instance.id))
        living = [
            one.id
            for one in self.moto.all_instances()
            if one.state not in ("terminated", "shutting-down") and _tags(one).get("Name") == name
        ]
        if len(living) > 1:
            self.doubles.append(name)
        group = form.get("Placement.GroupName")
        if group is not None:
            self.placement.groups[group].members[instance.id] = instance.placement.zone
        interface_tags = tag_specification(form, "network-interface")
        for interface in instance.nics.values():
            interface.add_tags(interface_tags)
        self._hide("DescribeInstances", self.moto.reservations, _reservation_of(self.moto, instance.id))
        self._boot(instance)

    def _boot(self, instance: Any) -> None:
        _set_state(instance, "pending", 0)
        self._due.append((time.monotonic() + self.pace.boot_seconds, "boot", instance.id))
        if self.pace.boot_seconds == 0:
            self.tick()

    def _power_on(self, instance: Any) -> None:
        if self.hook is not None:
            tags = _tags(instance)
            self._handles[instance.id] = self.hook(
                BootedInstance(
                    id=instance.id,
                    name=tags.get("Name", instance.id),
                    region=self.name,
                    zone=instance.placement.zone,
                    private_address=instance.private_ip,
                    user_data=_plain(instance.user_data),
                    tags=tags,
                )
            )

    def _start_instances(self, form: Mapping[str, str]) -> Answer:
        instances = [self.moto.get_instance_by_id(one) for one in indexed(form, "InstanceId")]
        for instance in instances:
            if instance is not None and instance.state in ("stopping", "shutting-down", "terminated"):
                return answers.error("IncorrectInstanceState", f"{instance.id} is {instance.state}")
        stopped = [one for one in instances if one is not None and one.state == "stopped"]
        answer = self._by_moto(form)
        if answer.status == 200:
            for instance in stopped:
                self._boot(instance)
        return answer

    def _stop_instances(self, form: Mapping[str, str]) -> Answer:
        for instance_id in indexed(form, "InstanceId"):
            instance = self.moto.get_instance_by_id(instance_id)
            if instance is not None and instance.state not in ("running", "stopping", "stopped"):
                return answers.error("IncorrectInstanceState", f"{instance_id} is {instance.state}")
        answer = self._by_moto(form)
        if answer.status == 200:
            for instance_id in indexed(form, "InstanceId"):
                handle = self._handles.pop(instance_id, None)
                if handle is not None:
                    handle.stop(force=form.get("Force") == "true")
        return answer

    def _terminate_instances(self, form: Mapping[str, str]) -> Answer:
        going = [self.moto.get_instance_by_id(one) for one in indexed(form, "InstanceId")]
        fresh = [one for one in going if one is not None and one.state not in ("shutting-down", "terminated")]
        if any(one is not None and one not in fresh for one in going):
            # moto would take it apart a second time.
            form = {key: value for key, value in form.items() if not key.startswith("InstanceId.")}
            form |= {f"InstanceId.{number}": one.id for number, one in enumerate(fresh, start=1)}
            if not fresh:
                return answers.ec2("TerminateInstances", {"instancesSet": []})
        answer = self._by_moto(form)
        if answer.status == 200:
            now = time.monotonic()
            for instance in fresh:
                self.placement.leave(instance.id)
                handle = self._handles.pop(instance.id, None)
                if handle is not None:
                    handle.destroy()
                if self.pace.end_seconds > 0:
                    _set_state(instance, "shutting-down", 32)
                    self._due.append((now + self.pace.end_seconds, "end", instance.id))
                self._due.append((now + self.pace.end_seconds + self.pace.forget_seconds, "forget", instance.id))
        return answer

    def _forget(self, instance: Any) -> None:
        self.moto.reservations.pop(_reservation_of(self.moto, instance.id), None)

    def _describe_instance_status(self, form: Mapping[str, str]) -> Answer:
        with self._hiding("DescribeInstances"):
            shown = [
                {
                    "instanceId": one.id,
                    "availabilityZone": one.placement.zone,
                    "instanceState": {"code": one.state_code, "name": one.state},
                    "eventsSet": self.events.get(one.id, []),
                }
                for one in self.moto.all_instances()
                if one.state in _ALIVE or form.get("IncludeAllInstances") == "true"
            ]
        return answers.ec2("DescribeInstanceStatus", {"instanceStatusSet": shown})

    def _create_vpc(self, form: Mapping[str, str]) -> Answer:
        known = set(self.moto.vpcs)
        answer = self._by_moto(form)
        for vpc in set(self.moto.vpcs) - known:
            self._hide("DescribeVpcs", self.moto.vpcs, vpc)
        return answer

    # What moto lets go although something still holds it.

    def _delete_vpc(self, form: Mapping[str, str]) -> Answer:
        vpc = form["VpcId"]
        gateways = [one for one in self.moto.internet_gateways.values() if one.vpc and one.vpc.id == vpc]
        groups = [one for one in self.moto.groups.get(vpc, {}).values() if one.name != "default"]
        if gateways or groups:
            return answers.error("DependencyViolation", f"The vpc '{vpc}' has dependencies and cannot be deleted.")
        return self._by_moto(form)

    def _delete_subnet(self, form: Mapping[str, str]) -> Answer:
        subnet = form["SubnetId"]
        if any(one.subnet.id == subnet for one in self.moto.enis.values()):
            return answers.error("DependencyViolation", f"The subnet '{subnet}' has dependencies.")
        return self._by_moto(form)

    def _delete_security_group(self, form: Mapping[str, str]) -> Answer:
        group = form.get("GroupId", "")
        if any(group in {one.id for one in interface.group_set} for interface in self.moto.enis.values()):
            return answers.error("DependencyViolation", f"resource {group} has a dependent object")
        return self._by_moto(form)

    def _once(self, action: str, form: Mapping[str, str]) -> Answer:
        token, wanted = f"{action}/{form['ClientToken']}", _parameters(form)
        before = self._tokens.get(token)
        if before is not None and before.answer is not None:
            if before.parameters != wanted:
                return answers.error("IdempotentParameterMismatch", "The token was used with other parameters")
            return before.answer
        answer = self._by_moto(form)
        if answer.status == 200:
            self._tokens[token] = _Token(wanted, "", answer)
        return answer

    # What is not shown yet.

    def _hide(self, action: str, holder: MutableMapping[str, Any], key: str) -> None:
        if self.pace.unseen_describes:
            self._unseen.append(_Unseen(action, holder, key, self.pace.unseen_describes))

    @contextmanager
    def _hiding(self, action: str) -> Iterator[None]:
        """Without what this listing does not show yet."""
        hidden = [one for one in self._unseen if one.action == action and one.key in one.holder]
        taken = [(one, one.holder.pop(one.key)) for one in hidden]
        try:
            yield
        finally:
            for one, thing in taken:
                one.holder[one.key] = thing
                one.left -= 1
            self._unseen = [one for one in self._unseen if one.left > 0]


def _parameters(form: Mapping[str, str]) -> str:
    """What a token stands for. Two attempts differ in nothing but what is about the attempt itself."""
    kept = {key: value for key, value in form.items() if key not in ("ClientToken", "DryRun")}
    return hashlib.sha256(json.dumps(kept, sort_keys=True).encode()).hexdigest()


def _describing(instance: str) -> dict[str, str]:
    return {"Action": "DescribeInstances", "Version": "2016-11-15", "InstanceId.1": instance}


def _reservation_of(moto: Any, instance: str) -> str:
    return next((key for key, one in moto.reservations.items() if any(i.id == instance for i in one.instances)), "")


def _set_state(instance: Any, name: str, code: int) -> None:
    instance._state.name, instance._state.code = name, code


def _tags(instance: Any) -> dict[str, str]:
    return {tag["key"]: tag["value"] for tag in instance.get_tags()}


def _plain(user_data: Any) -> str:
    try:
        return base64.b64decode(str(user_data or "")).decode()
    except (binascii.Error, UnicodeDecodeError):
        return str(user_data)


def _vcpus(kind: str) -> int:
    return int(INSTANCE_TYPES.get(kind, {}).get("VCpuInfo", {}).get("DefaultVCpus", 1))


def _architectures(kind: str) -> list[str]:
    found: list[str] = INSTANCE_TYPES.get(kind, {}).get("ProcessorInfo", {}).get("SupportedArchitectures", ["x86_64"])
    return found
