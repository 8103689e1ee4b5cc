import os
from dataclasses import dataclass
from pathlib import Path

import pytest
from django.conf import settings
from django.test import Client


@dataclass(frozen=True)
class Console:
    folder: Path

    def get(self, path: str):
        return Client().get(path)


@pytest.fixture
def console(db, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Console:
    (tmp_path / "dist" / "assets").mkdir(parents=True)
    (tmp_path / "dist" / "index.html").write_text("<html>console</html>")
    (tmp_path / "dist" / "favicon.svg").write_text("<svg/>")
    (tmp_path / "dist" / "assets" / "main-abc123.js").write_text("1")
    (tmp_path / "secret.txt").write_text("secret")
    monkeypatch.setattr(settings.ENV, "ringmaster_console_dir", tmp_path / "dist")
    return Console(tmp_path / "dist")


@pytest.mark.parametrize("path", ["/", "/clusters", "/clusters/clu_1/connect", "/accept-invitation"])
def test_its_own_addresses_all_get_the_index_page(console: Console, path: str):
    answer = console.get(path)
    assert answer.status_code == 200
    assert answer.content == b"<html>console</html>"
    assert answer["Content-Type"] == "text/html"
    assert answer["Cache-Control"] == "no-cache"


def test_built_assets_may_be_kept_for_ever(console: Console):
    answer = console.get("/assets/main-abc123.js")
    assert answer["Content-Type"] == "text/javascript"
    assert "immutable" in answer["Cache-Control"]
    assert console.get("/favicon.svg")["Content-Type"] == "image/svg+xml"


@pytest.mark.parametrize("path", ["/assets/old.js", "/missing.png", "/../secret.txt", "/%2e%2e/secret.txt"])
def test_what_was_not_built_is_not_there(console: Console, path: str):
    assert console.get(path).status_code == 404


@pytest.mark.parametrize("path", ["/api/v1/x", "/api/x", "/_allauth/x"])
def test_the_apis_addresses_never_get_a_page(console: Console, path: str):
    assert console.get(path)["Content-Type"] == "application/json"


def test_it_notices_that_the_console_was_built_again(console: Console):
    assert console.get("/new.js").status_code == 404
    (console.folder / "new.js").write_text("2")
    os.utime(console.folder / "index.html", (1, 1))
    assert console.get("/new.js").status_code == 200


def test_without_a_console_there_is_only_the_api(db):
    assert Client().get("/").status_code == 404
