"""The command line against the real API, as it is typed."""

import io
import json
import stat
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from rich.console import Console
from ringmaster.cli import commands, failures, profiles, progress
from ringmaster.cli.root import run
from ringmaster.transport import Transport

from backend.clusters.models import Cluster
from backend.clusters.tests.conftest import finish_operations
from backend.conftest import Tenant
from backend.operations.models import Operation

from .conftest import URL

DOCUMENT = json.loads((Path(__file__).resolve().parents[3] / "backend" / "openapi.json").read_text())
ORDER = (
    *("clusters", "create", "--name", "orders", "--engine", "cassandra", "--provider", "local", "--region", "local-1"),
    *("--zones", "local-1a", "--zones", "local-1b", "--zones", "local-1c"),
    *("--machine-type", "local.small", "--nodes-per-zone", "1"),
)


@dataclass(frozen=True)
class Result:
    code: int
    out: str
    error: str


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def ran(
    server: httpx.BaseTransport,
    tenant: Tenant,
    _catalog: None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Callable[..., Result]:
    """Runs a command as the owner of `tenant`; between two looks at an operation all operations succeed."""
    monkeypatch.setenv("RINGMASTER_CONFIG", str(tmp_path / "config.json"))
    monkeypatch.setenv("RINGMASTER_URL", URL)
    monkeypatch.setenv("RINGMASTER_TOKEN", tenant.token())

    def transport_of(profile: profiles.Profile) -> Transport:
        return Transport(profile.url, profile.token, http=server, sleep=lambda _: finish_operations())

    def invoke(*words: str, stdin: str = "", typed: str | None = None) -> Result:
        monkeypatch.setattr(sys, "stdin", io.StringIO(stdin) if typed is None else Terminal(typed))
        capsys.readouterr()
        code = run(list(words), transport_of=transport_of)
        said = capsys.readouterr()
        return Result(code, said.out, said.err)

    return invoke


def test_there_is_a_command_for_each_operation() -> None:
    ids = {operation["operationId"] for item in DOCUMENT["paths"].values() for operation in item.values()}
    assert {row["id"] for row in commands.table()["commands"]} == ids


@pytest.mark.parametrize("row", commands.table()["commands"], ids=lambda row: row["id"])
def test_every_command_explains_itself_and_no_two_options_share_a_name(row: dict[str, object]) -> None:
    made = commands.command(row)
    assert made.help
    flags = [flag for parameter in made.params for flag in [*parameter.opts, *parameter.secondary_opts]]
    assert len(flags) == len(set(flags))


def test_it_orders_follows_and_shows_a_cluster(ran: Callable[..., Result]) -> None:
    ordered = ran(*ORDER, "--wait")
    assert ordered.code == 0, ordered.error
    assert "Create cluster orders: succeeded, 100%" in ordered.out
    assert "100%" in ordered.error
    listed = ran("clusters", "list")
    assert listed.out.splitlines()[0].split()[:3] == ["NAME", "ID", "STATE"]
    assert "orders" in listed.out
    shown = json.loads(ran("cluster", "get", "orders", "--json").out)
    assert (shown["name"], shown["engine"]) == ("orders", "cassandra")


def test_a_cluster_is_named_by_its_name_or_its_id(ran: Callable[..., Result], active: Cluster) -> None:
    for word in (active.id, "orders"):
        assert json.loads(ran("clusters", "get", word, "--json").out)["id"] == active.id
    assert json.loads(ran("operations", "list", "--cluster-id", "orders", "--json").out)["items"]
    missing = ran("clusters", "get", "nothing")
    assert (missing.code, missing.out) == (failures.NOT_FOUND, "")
    assert "There is no cluster nothing." in missing.error


def test_a_name_of_another_organisation_is_not_found(
    ran: Callable[..., Result], active: Cluster, stranger: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RINGMASTER_TOKEN", stranger.token())
    assert ran("clusters", "get", "orders").code == failures.NOT_FOUND
    assert ran("clusters", "get", active.id).code == failures.NOT_FOUND


def test_a_refusal_tells_code_field_and_request(ran: Callable[..., Result]) -> None:
    refused = ran(*ORDER[:-1], "1000")
    assert refused.code == failures.REFUSED
    assert refused.out == ""
    assert "nodes_per_zone" in refused.error
    assert "HTTP 422, request req_" in refused.error
    as_json = ran(*ORDER[:-1], "1000", "--json")
    assert json.loads(as_json.error)["error"]["field"] == "nodes_per_zone"


def test_what_is_missing_is_told_before_anything_is_sent(ran: Callable[..., Result]) -> None:
    told = ran("clusters", "create", "--name", "x")
    assert told.code == failures.USAGE
    assert "--engine" in told.error
    assert "--zones" in told.error


def test_a_body_comes_from_a_file_and_options_say_otherwise(ran: Callable[..., Result]) -> None:
    body = {"name": "one", "engine": "cassandra", "provider": "local", "region": "local-1"}
    body |= {"zones": ["local-1a", "local-1b", "local-1c"], "machine_type": "local.small", "nodes_per_zone": 1}
    ordered = ran("clusters", "create", "--file", "-", "--name", "two", stdin=json.dumps(body))
    assert ordered.code == 0, ordered.error
    assert Cluster.objects.get().name == "two"
    assert ran("clusters", "create", "--file", "-", stdin="{").code == failures.USAGE


def test_a_dry_run_changes_nothing(ran: Callable[..., Result]) -> None:
    tried = ran(*ORDER, "--dry-run")
    assert (tried.code, tried.out) == (0, "")
    assert "Nothing was changed" in tried.error
    assert not Cluster.objects.exists()


def test_a_change_of_several_kinds_takes_the_fields_of_its_kind(ran: Callable[..., Result], active: Cluster) -> None:
    planned = ran("clusters", "plan-change", "orders", "--kind", "scale", "--nodes-per-zone", "2", "--json")
    assert planned.code == 0, planned.error
    wrong = ran("clusters", "plan-change", "orders", "--kind", "scale", "--machine-type", "local.medium")
    assert wrong.code == failures.REFUSED


def test_settings_are_told_as_json_and_null_is_nothing(ran: Callable[..., Result], active: Cluster) -> None:
    changed = ran("clusters", "update", "orders", "--termination-protection", "true", "--image-build", "null")
    assert changed.code == 0, changed.error
    active.refresh_from_db()
    assert active.termination_protection


def test_a_delete_asks_on_a_terminal(ran: Callable[..., Result], active: Cluster) -> None:
    declined = ran("clusters", "delete", "orders", typed="n\n")
    assert "Delete cluster orders?" in declined.error
    assert declined.code == failures.INTERRUPTED
    assert not Operation.objects.filter(kind="delete_cluster").exists()
    assert ran("clusters", "delete", "orders", "--yes", typed="").code == 0
    assert Operation.objects.filter(kind="delete_cluster").exists()


@pytest.mark.parametrize(
    ("state", "code"), [("failed", failures.OPERATION_FAILED), ("blocked", failures.OPERATION_STANDS)]
)
def test_an_operation_that_does_not_succeed_ends_with_its_reason(
    ran: Callable[..., Result], creating: Cluster, state: str, code: int
) -> None:
    why = {"reason_code": "no_room", "reason": "The zone is full.", "reason_hint": "Choose another."}
    Operation.objects.update(state=state, **why)
    waited = ran("operations", "wait", Operation.objects.get().id)
    assert waited.code == code
    assert "The zone is full. Choose another." in waited.error


def test_all_pages_and_chosen_columns(ran: Callable[..., Result], active: Cluster) -> None:
    paged = ran("clusters", "list-nodes", "orders", "--limit", "1", "--columns", "name")
    assert len(paged.out.splitlines()) == 2
    assert "--all" in paged.error
    everything = ran("clusters", "list-nodes", "orders", "--limit", "1", "--columns", "name", "--all")
    assert len(everything.out.splitlines()) == 4


def test_files_are_written_as_they_are(ran: Callable[..., Result], active: Cluster, tmp_path: Path) -> None:
    assert ran("clusters", "download-ca", "orders", "--output", str(tmp_path / "ca.pem")).code == 0
    assert (tmp_path / "ca.pem").read_text().startswith("-----BEGIN CERTIFICATE")


def test_a_profile_is_kept_where_only_its_owner_reads(
    ran: Callable[..., Result], tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("RINGMASTER_URL")
    monkeypatch.delenv("RINGMASTER_TOKEN")
    nobody = ran("clusters", "list")
    assert "ringmaster login" in nobody.error
    wrong = ran("login", "--url", URL, "--token", "rmt_wrong")
    assert (wrong.code, profiles.file().exists()) == (failures.NOT_ALLOWED, False)
    token = tenant.token()
    assert ran("login", "--url", URL, "--token", "-", "--name", "work", stdin=f"{token}\n").code == 0
    assert stat.S_IMODE(profiles.file().stat().st_mode) == 0o600
    assert ran("clusters", "list").code == 0
    listed = ran("profile", "list")
    assert "work" in listed.out
    assert token not in listed.out
    assert ran("profile", "remove", "work").code == 0
    assert ran("--profile", "work", "clusters", "list").code == failures.FAILED


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_are_told_how_to_complete(ran: Callable[..., Result], shell: str) -> None:
    assert "_RINGMASTER_COMPLETE" in ran("completion", shell).out


def test_the_picture_has_the_steps_the_bar_and_the_reason() -> None:
    step = {
        "state": "running",
        "title": "Start the engine",
        "target_title": "shop-1",
        "message": "",
        "duration_seconds": 3.2,
    }
    operation = {
        "title": "Create cluster",
        "cluster_name": "shop",
        "state": "blocked",
        "progress": 0.5,
        "elapsed_seconds": 12.0,
        "eta_seconds": None,
        "waits_for": None,
        "reason": {"message": "The zone is full.", "hint": "Choose another."},
        "steps": [step],
    }
    screen = Console(width=80, file=io.StringIO())
    with screen.capture() as capture:
        screen.print(progress.drawing(operation, lines=10))
    assert [line.rstrip() for line in capture.get().splitlines()] == [
        "Create cluster shop: blocked, 50%, 12 s",
        "━" * 20 + "─" * 20,
        "●  Start the engine · shop-1  3 s",
        "The zone is full. Choose another.",
    ]


def test_a_long_picture_shows_what_is_being_done() -> None:
    steps = [{"state": "done", "number": number} for number in range(20)]
    steps += [{"state": "running", "number": 20}, *({"state": "pending", "number": n} for n in range(21, 40))]
    shown = [step["number"] for step in progress.around(steps, 9)]
    assert shown == list(range(17, 26))
    assert len(progress.around(steps, 100)) == 40


def test_fields_can_be_chosen(ran: Callable[..., Result], active: Cluster) -> None:
    assert json.loads(ran("clusters", "get", "orders", "--fields", "id,name", "--json").out) == {
        "id": active.id,
        "name": "orders",
    }
    assert json.loads(ran("clusters", "list", "--fields", "name", "--json").out)["items"] == [{"name": "orders"}]
    refused = ran("clusters", "list", "--fields", "colour")
    assert (refused.code, "'colour'" in refused.error) == (failures.REFUSED, True)


def test_a_change_can_be_held_to_what_was_seen(ran: Callable[..., Result], active: Cluster) -> None:
    tag = ran("clusters", "get", "orders", "--etag").out.strip()
    renamed = ran("clusters", "update", active.id, "--name", "quicker", "--if-match", tag)
    assert renamed.code == 0, renamed.error
    refused = ran("clusters", "update", active.id, "--name", "slower", "--if-match", tag)
    assert (refused.code, "precondition_failed" in refused.error) == (failures.REFUSED, True)
