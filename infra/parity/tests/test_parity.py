"""Console, command line, Terraform and the audit log know each operation of the API, or there is a reason why not."""

import ast
import json
from pathlib import Path

from infra.clients.description import CHECKOUT
from infra.parity import audit, console, table, terraform


def test_every_operation_is_everywhere_or_there_is_a_reason() -> None:
    reasons = table.read_reasons()
    complaints = list(table.complaints(table.rows(reasons), reasons))
    assert complaints == [], "\n".join(["", *complaints])


def test_a_new_operation_and_an_outdated_reason_are_told_with_what_to_do() -> None:
    reasons = table.read_reasons()
    del reasons["list_usage"]["terraform"]
    reasons["get_cluster"] = {"terraform": "It is too large."}
    reasons["gone"] = {"cli": "It was."}
    told = "\n".join(table.complaints(table.rows(reasons), reasons))
    assert "list_usage is not found in terraform: call it in infra/terraform-provider, or write the reason" in told
    assert "get_cluster is in terraform now: take it out" in told
    assert "There is no operation gone" in told
    assert len(told.splitlines()) == 3


def test_a_reason_says_something_and_stands_once() -> None:
    groups = [(group["side"], group["reason"]) for group in json.loads(table.REASONS.read_text())]
    assert len(groups) == len(set(groups))
    assert all(side in table.SIDES and len(reason) > 20 for side, reason in groups)
    named = [(group["side"], one) for group in json.loads(table.REASONS.read_text()) for one in group["operations"]]
    assert len(named) == len(set(named))


def test_the_console_uses_what_its_own_code_names(tmp_path: Path) -> None:
    (tmp_path / "__generated__").mkdir()
    (tmp_path / "__generated__" / "sdk.gen.ts").write_text("listTokens()")
    (tmp_path / "a.test.ts").write_text("listImages()")
    (tmp_path / "index.ts").write_text('export {\n  createTokenMutation,\n  revokeTokenMutation,\n} from "./gen";\n')
    (tmp_path / "a.tsx").write_text(
        'import { getBudget } from "./gen";\nuseMutation(createTokenMutation()); getImageQueryKey()'
    )
    ids = {"list_tokens", "list_images", "create_token", "revoke_token", "get_budget", "get_image"}
    assert console.used(tmp_path, ids) == {"create_token"}


def test_the_provider_calls_what_its_paths_say(tmp_path: Path) -> None:
    (tmp_path / "thing").mkdir()
    (tmp_path / "thing" / "thing.go").write_text(
        "func path(m *model, words ...string) string {\n"
        '\treturn client.Path(append([]string{"clusters", m.ID.ValueString(), "things"}, words...)...)\n}\n'
        'func a() { c.Get(ctx, path(m), &now); c.Put(ctx, path(m, m.ID.ValueString())+"/parts", body, nil)\n'
        '\tc.Post(ctx, "/orders?dry_run=true", body, nil)\n'
        "\tc.Delete(ctx, nobody(knows), nil, nil) }\n"
        'var d = plain.Documents[model, document]{At: "books", Order: order}\n'
        'var t = []plain.List{{Name: "parts", Listed: "shelves/{shelf_id}/parts"}}\n'
    )
    assert terraform.calls(tmp_path) == {
        ("GET", ("clusters", "*", "things")),
        ("PUT", ("clusters", "*", "things", "*", "parts")),
        ("POST", ("orders",)),
        ("POST", ("books",)),
        ("GET", ("books", "*")),
        ("DELETE", ("books", "*")),
        ("GET", ("shelves", "*", "parts")),
    }


def test_each_word_of_a_path_is_compared() -> None:
    call = ("GET", ("clusters", "*", "roles"))
    assert terraform.matches(call, "GET", "/api/v1/clusters/{cluster_id}/roles")
    assert not terraform.matches(call, "POST", "/api/v1/clusters/{cluster_id}/roles")
    assert not terraform.matches(call, "GET", "/api/v1/clusters/{cluster_id}/nodes")
    assert not terraform.matches(("GET", ("clusters", "*")), "GET", "/api/v1/clusters/check")


def test_an_action_that_stops_recording_is_noticed(tmp_path: Path) -> None:
    """The real accounts app, once as it is and once with every audit.record taken out."""
    found = audit.audited(CHECKOUT / "backend")
    assert {"create_token", "revoke_token", "create_cluster"} <= found
    assert "get_cluster" not in found
    copy = tmp_path / "backend"
    for file in (CHECKOUT / "backend").rglob("*.py"):
        if {"tests", "migrations"} & set(file.parts):
            continue
        target = copy / file.relative_to(CHECKOUT / "backend")
        target.parent.mkdir(parents=True, exist_ok=True)
        text = file.read_text()
        target.write_text(text.replace("audit.record(", "dict(") if file.parent.name == "accounts" else text)
        ast.parse(target.read_text())
    assert found - audit.audited(copy) >= {"create_token", "revoke_token"}
    assert "create_cluster" in audit.audited(copy)
