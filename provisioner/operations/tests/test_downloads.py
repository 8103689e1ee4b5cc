"""A user takes a backup out: signed addresses, the key, and a program that opens what came."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import boto3
import httpx
import pytest
from moto.server import ThreadedMotoServer

from backend.accounts.states import PERMISSIONS, Role
from backend.audit.models import AuditRecord
from backend.backups import downloads, vault_keys
from backend.backups.models import BackupLocation
from backend.backups.schemas import DownloadOrder
from backend.core.errors import Conflict, DomainError
from provisioner.agent import open_backup
from provisioner.operations.tests.backup_world import ROWS, BackupWorld, backup_world

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def world() -> Iterator[BackupWorld]:
    with backup_world() as made:
        made.backed_up()
        yield made


@pytest.fixture
def endpoint() -> Iterator[str]:
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


def _moved_to_a_bucket(world: BackupWorld, endpoint: str) -> None:
    client = boto3.client(
        "s3", endpoint_url=endpoint, region_name="us-east-1", aws_access_key_id="k", aws_secret_access_key="s"
    )
    client.create_bucket(Bucket="backups")
    for path in world.folder.rglob("*"):
        if path.is_file():
            client.put_object(Bucket="backups", Key=str(path.relative_to(world.folder)), Body=path.read_bytes())
    BackupLocation.objects.filter(id=world.location_id).update(
        kind="s3", bucket="backups", region="us-east-1", endpoint=endpoint, folder=""
    )
    vault_keys.keep_credentials(world.location_id, {"access_key_id": "k", "secret_access_key": "s"})


def _key(world: BackupWorld, folder: Path) -> Path:
    path = folder / "key"
    path.write_text(downloads.reveal_key(world.who)["key"])
    return path


def _rows(into: Path) -> list[dict[str, str]]:
    return [json.loads(path.read_bytes()) for path in sorted(into.rglob("*-Data.db"))]


def test_what_was_fetched_by_its_addresses_opens_to_the_rows(
    world: BackupWorld, endpoint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(downloads, "PAGE", 2)
    _moved_to_a_bucket(world, endpoint)
    after, answers = None, tmp_path / "answers.json"
    with answers.open("w") as file:
        while True:
            answer = downloads.addresses(world.who, world.backup.id, DownloadOrder(hours=1, after=after))
            file.write(json.dumps(answer, default=str) + "\n")
            if (after := answer["next_after"]) is None:
                break
    assert open_backup.main(["fetch", str(answers), str(tmp_path / "own")]) == 0
    into = tmp_path / "out"
    assert open_backup.main(["open", "--key-file", str(_key(world, tmp_path)), str(tmp_path / "own"), str(into)]) == 0
    found = _rows(into)
    assert len(found) == 3
    assert all(sorted(map(int, rows)) == sorted(ROWS) for rows in found)
    assert "CREATE TABLE shop.orders" in (into / "schema.json").read_text()
    # An address is for its object only, and for reading only.
    url = answer["items"][0]["url"]
    assert httpx.get(url).status_code == 200
    noted = AuditRecord.objects.values_list("action", flat=True)
    assert {"backup.download", "backup_key.reveal"} <= set(noted)


def test_a_folder_says_plainly_that_it_has_no_addresses(world: BackupWorld, tmp_path: Path) -> None:
    with pytest.raises(Conflict, match="a folder has no addresses"):
        downloads.addresses(world.who, world.backup.id, DownloadOrder())
    # Its files are what the program takes.
    place = world.folder / world.who.organisation_id
    arguments = ["open", "--key-file", str(_key(world, tmp_path)), str(place), str(tmp_path / "out")]
    assert open_backup.main(arguments) == 0
    assert len(_rows(tmp_path / "out")) == 3


@pytest.mark.parametrize("what", ["objects/", "manifests/"])
def test_what_was_changed_does_not_open_and_is_named(
    world: BackupWorld, tmp_path: Path, what: str, capsys: pytest.CaptureFixture[str]
) -> None:
    key = _key(world, tmp_path)
    for name in world.names(what):
        before = world.path(name).read_bytes()
        at = before.index(b'"document"') + 20 if name.endswith("json") else -3
        world.path(name).write_bytes(before[:at] + bytes([before[at] ^ 1]) + before[at:][1:])
        place = world.folder / world.who.organisation_id
        assert open_backup.main(["open", "--key-file", str(key), str(place), str(tmp_path / "out")]) == 1
        assert name.rpartition("/")[2] in capsys.readouterr().err or name.endswith("json")
        world.path(name).write_bytes(before)


def test_it_needs_a_permission_of_its_own(world: BackupWorld) -> None:
    operator = replace(world.who, role=Role.OPERATOR, permissions=PERMISSIONS[Role.OPERATOR])
    with pytest.raises(DomainError):
        downloads.reveal_key(operator)
    with pytest.raises(DomainError):
        downloads.addresses(operator, world.backup.id, DownloadOrder())
    assert not AuditRecord.objects.filter(action__in=["backup.download", "backup_key.reveal"]).exists()
