"""Machines: EC2 instances, on demand, named by a tag and made once by a token derived from the name.

Nothing is launched twice. RunInstances with a token that was used gives what it made before, for at least a day after
that has ended (Amazon EC2 Developer Guide, "Ensuring idempotency"). A look before each launch finds what is older. A
name may be used again after its machine was terminated: the token counts the terminated ones before it.
"""

import hashlib
import json
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from provisioner.providers.aws import tags
from provisioner.providers.aws.cloud import Cloud, Service
from provisioner.providers.aws.errors import AnswerLost, Missing, TokenUsed
from provisioner.providers.aws.images import Images
from provisioner.providers.aws.machine_types import machine_type
from provisioner.providers.aws.networks import Networks, rack_group
from provisioner.providers.aws.settings import AwsSettings
from provisioner.providers.base import InvalidRequest, Machine, MachineSpec, MachineState, NotFound, ProviderError

Instance = Mapping[str, Any]

_STATES = {
    "pending": MachineState.STARTING,
    "running": MachineState.RUNNING,
    "stopping": MachineState.STOPPED,
    "stopped": MachineState.STOPPED,
    "shutting-down": MachineState.STOPPED,
}
_TERMINATED = "terminated"
_ENDING = "shutting-down"
_OFF = ("stopping", "stopped")

_USER_DATA_BYTES = 16 * 1024
_PATIENCE_LAUNCHES = 8

# How old a listing may be that `find` answers from: thirty nodes that are waited for ask AWS once, not thirty times.
_FIND_SECONDS = 1.0
# How old it may be where it only has to show machines whose tokens may have been forgotten.
_LOOK_SECONDS = 30.0
# Above this many machines in a region, one machine is asked for by its name.
_LISTING_LIMIT = 1000


@dataclass(frozen=True)
class _Listing:
    taken_at: float
    by_name: Mapping[str, list[Instance]]


@dataclass(frozen=True)
class _Launch:
    """One that AWS was asked for by this process, and may not show yet."""

    asked_at: float
    number: int


class Machines:
    def __init__(self, cloud: Cloud, settings: AwsSettings, networks: Networks, images: Images) -> None:
        self._cloud = cloud
        self._settings = settings
        self._networks = networks
        self._images = images
        self._lock = threading.Lock()
        self._listings: dict[str, _Listing] = {}
        self._launches: dict[tuple[str, str], _Launch] = {}

    def ensure(self, spec: MachineSpec) -> Machine:
        self._cloud.check_region(spec.region)
        request = self._request(spec)
        ec2 = self._cloud.ec2(spec.region)
        known = self._listing(spec.region, _LOOK_SECONDS).by_name.get(spec.name)
        present = [] if known is None else self._named(ec2, spec.name)
        living = _living(present)
        instance = _oldest(living) if living else self._launch(ec2, spec, request, _next_number(present))
        if tags.tags_of(instance).get(tags.SPEC) != _digest(spec):
            raise InvalidRequest(f"Machine {spec.name} exists and was made from another spec.")
        match _state(instance):
            case "shutting-down":
                raise ProviderError(f"An earlier machine {spec.name} is still ending.")
            case state if state in _OFF:
                self._start(ec2, spec.region, instance)
                return self._machine({**instance, "State": {"Name": "pending"}})
        return self._machine(instance)

    def find(self, region: str, name: str) -> Machine | None:
        """As AWS showed it at most a second ago."""
        self._cloud.check_region(region)
        with self._lock:
            known = self._listings.get(region)
        if known is not None and len(known.by_name) >= _LISTING_LIMIT:
            found = self._named(self._cloud.ec2(region), name)
        else:
            found = self._listing(region, _FIND_SECONDS).by_name.get(name, [])
        living = _living(found)
        return self._machine(_oldest(living)) if living else None

    def all(self, region: str) -> list[Machine]:
        """All of them, also two of one name, which must not be and which a sweep has to see."""
        by_name = self._listing(region, 0.0).by_name
        return [self._machine(one) for name in sorted(by_name) for one in _living(by_name[name])]

    def names_by_id(self, region: str) -> dict[str, str]:
        by_name = self._listing(region, 0.0).by_name
        return {one["InstanceId"]: name for name, ones in by_name.items() for one in _living(ones)}

    def delete(self, region: str, name: str) -> bool:
        ec2 = self._cloud.ec2(region)
        present = self._named(ec2, name)
        living = _living(present)
        if not living:
            return self._all_shown(region, name, present)
        ending = [one["InstanceId"] for one in living if _state(one) != _ENDING]
        if ending:
            ec2.call("terminate_instances", InstanceIds=ending)
            self._forget_listing(region)
        return False

    def start(self, region: str, name: str) -> None:
        ec2 = self._cloud.ec2(region)
        instance = self._existing(ec2, region, name)
        if _state(instance) in _OFF:
            self._start(ec2, region, instance)

    def stop(self, region: str, name: str, *, force: bool) -> None:
        """`force`: AWS does not ask the operating system to shut down first."""
        ec2 = self._cloud.ec2(region)
        instance = self._existing(ec2, region, name)
        if _state(instance) not in _OFF:
            ec2.call("stop_instances", InstanceIds=[instance["InstanceId"]], Force=force)
            self._forget_listing(region)

    def _request(self, spec: MachineSpec) -> dict[str, Any]:
        """RunInstances' parameters but for token and tags. The same for the same spec, or AWS refuses the token.

        InvalidRequest, NotFound.
        """
        kind = machine_type(spec.machine_type)
        if len(spec.user_data.encode()) > _USER_DATA_BYTES:
            raise InvalidRequest(f"User data is limited to {_USER_DATA_BYTES} bytes.")
        place = self._networks.place(spec.region, spec.network)
        if place is None or spec.zone not in place.subnets:
            raise InvalidRequest(f"There is no network {spec.network} in zone {spec.zone}.")
        ami = self._images.ami(region=spec.region, image=spec.image, architecture=kind.architecture)
        root = {
            "VolumeSize": self._settings.root_gib,
            "VolumeType": "gp3",
            "Encrypted": True,
            "DeleteOnTermination": True,
        }
        interface = {
            "DeviceIndex": 0,
            "SubnetId": place.subnets[spec.zone],
            "Groups": [place.group],
            "AssociatePublicIpAddress": self._settings.public_addresses,
            "DeleteOnTermination": True,
        }
        profile = self._settings.instance_profile
        return {
            "ImageId": ami.id,
            "InstanceType": kind.name,
            "MinCount": 1,
            "MaxCount": 1,
            "UserData": spec.user_data,
            "NetworkInterfaces": [interface],
            "BlockDeviceMappings": [{"DeviceName": ami.root_device, "Ebs": root}],
            "Placement": {"AvailabilityZone": spec.zone, "GroupName": rack_group(spec.network, spec.zone)},
            "MetadataOptions": {"HttpTokens": "required", "HttpEndpoint": "enabled", "HttpPutResponseHopLimit": 1},
            "InstanceInitiatedShutdownBehavior": "stop",
        } | ({} if profile is None else {"IamInstanceProfile": {"Name": profile}})

    def _launch(self, ec2: Service, spec: MachineSpec, request: Mapping[str, Any], number: int) -> Instance:
        """The instance of the first number from this one on that has not ended."""
        for _ in range(_PATIENCE_LAUNCHES):
            try:
                instance = self._launch_one(ec2, spec, request, number)
            except TokenUsed as error:
                present = self._named(ec2, spec.name)
                living = _living(present)
                if living:
                    return _oldest(living)
                if _next_number(present) <= number:
                    raise ProviderError(
                        f"Machine {spec.name} was asked for before, from another spec, and AWS does not show it.",
                        hint="Ask again. If it was deleted less than a day ago, AWS may still keep its token.",
                    ) from error
                number = _next_number(present)
                continue
            if _state(instance) != _TERMINATED:
                self._show(spec.region, spec.name, instance)
                return instance
            number += 1
        raise ProviderError(f"Machine {spec.name} was made and ended {_PATIENCE_LAUNCHES} times in a day.")

    def _launch_one(self, ec2: Service, spec: MachineSpec, request: Mapping[str, Any], number: int) -> Instance:
        labels = {
            **spec.tags,
            tags.INSTALLATION: self._settings.installation,
            tags.NETWORK: spec.network,
            tags.MACHINE: spec.name,
            tags.SPEC: _digest(spec),
            tags.LAUNCH: str(number),
        }
        tagged = [tags.specification(kind, spec.name, labels) for kind in ("instance", "volume", "network-interface")]
        token = hashlib.sha256(f"{self._settings.installation}/{spec.name}/{number}".encode()).hexdigest()
        self._note_launch(spec.region, spec.name, number)
        try:
            answer = ec2.call("run_instances", **request, ClientToken=token, TagSpecifications=tagged)
        except (AnswerLost, TokenUsed):
            raise
        except ProviderError as error:
            self._forget_launch(spec.region, spec.name)
            if isinstance(error, Missing):
                self._networks.forget(spec.region, spec.network)
            raise
        instance: Instance = answer["Instances"][0]
        return instance

    def _start(self, ec2: Service, region: str, instance: Instance) -> None:
        ec2.call("start_instances", InstanceIds=[instance["InstanceId"]])
        self._forget_listing(region)

    def _existing(self, ec2: Service, region: str, name: str) -> Instance:
        living = [one for one in _living(self._named(ec2, name)) if _state(one) != _ENDING]
        if not living:
            raise NotFound(f"There is no machine {name} in {region}.")
        return _oldest(living)

    def _named(self, ec2: Service, name: str) -> list[Instance]:
        """All instances of this name that AWS shows, also those that have ended."""
        ours = tags.having({tags.INSTALLATION: self._settings.installation, tags.MACHINE: name})
        return _instances(ec2.all("describe_instances", "Reservations", Filters=ours))

    def _listing(self, region: str, seconds: float) -> _Listing:
        """All of our instances in a region, at most so old."""
        now = time.monotonic()
        with self._lock:
            known = self._listings.get(region)
        if known is not None and now - known.taken_at < seconds:
            return known
        ours = tags.having({tags.INSTALLATION: self._settings.installation})
        by_name: dict[str, list[Instance]] = {}
        for one in _instances(self._cloud.ec2(region).all("describe_instances", "Reservations", Filters=ours)):
            by_name.setdefault(_name(one), []).append(one)
        taken = _Listing(now, by_name)
        with self._lock:
            self._listings[region] = taken
        return taken

    def _show(self, region: str, name: str, instance: Instance) -> None:
        """Add what was just launched to the listing at hand, so that nobody who asks for it launches it again."""
        with self._lock:
            known = self._listings.get(region)
            if known is not None:
                self._listings[region] = replace(known, by_name={**known.by_name, name: [instance]})

    def _forget_listing(self, region: str) -> None:
        with self._lock:
            self._listings.pop(region, None)

    def _note_launch(self, region: str, name: str, number: int) -> None:
        with self._lock:
            self._launches[region, name] = _Launch(time.monotonic(), number)

    def _forget_launch(self, region: str, name: str) -> None:
        with self._lock:
            self._launches.pop((region, name), None)

    def _all_shown(self, region: str, name: str, present: Sequence[Instance]) -> bool:
        """Whether all that this process asked for of this name is among these, or should be by now."""
        with self._lock:
            launch = self._launches.get((region, name))
            if launch is not None and time.monotonic() - launch.asked_at > self._settings.shown_after_seconds:
                del self._launches[region, name]
                launch = None
        return launch is None or launch.number < _next_number(present)

    def _machine(self, instance: Instance) -> Machine:
        labels = tags.tags_of(instance)
        address = str(instance.get("PrivateIpAddress", ""))
        public = instance.get("PublicIpAddress") if self._settings.public_addresses else None
        return Machine(
            id=instance["InstanceId"],
            name=_name(instance),
            zone=instance["Placement"]["AvailabilityZone"],
            state=_STATES[_state(instance)],
            address=address,
            agent_address=f"{public or address}:{self._settings.agent_port}",
            tags=tags.callers(labels),
        )


def _instances(reservations: Sequence[Mapping[str, Any]]) -> list[Instance]:
    return [one for reservation in reservations for one in reservation["Instances"]]


def _name(instance: Instance) -> str:
    return tags.tags_of(instance).get(tags.MACHINE) or str(instance["InstanceId"])


def _state(instance: Instance) -> str:
    return str(instance["State"]["Name"])


def _living(instances: Sequence[Instance]) -> list[Instance]:
    return [one for one in instances if _state(one) != _TERMINATED]


def _oldest(instances: Sequence[Instance]) -> Instance:
    return min(instances, key=lambda one: (str(one["LaunchTime"]), str(one["InstanceId"])))


def _next_number(instances: Sequence[Instance]) -> int:
    return 1 + max((int(tags.tags_of(one).get(tags.LAUNCH, 0)) for one in instances), default=-1)


def _digest(spec: MachineSpec) -> str:
    return hashlib.sha256(json.dumps(asdict(spec), sort_keys=True).encode()).hexdigest()
