from dataclasses import replace
from pathlib import Path

import pytest

from provisioner.providers.base import Image, ImageState, InvalidRequest, NotFound, ProviderError
from provisioner.providers.conformance import eventually
from provisioner.providers.local.provider import LocalProvider, LocalSettings

BAKE = """#!/bin/sh
echo x >>"$2/bakes"
echo '{"progress": 0.5, "message": "fetching"}'
while [ ! -e "$2/go-on" ]; do sleep 0.02; done
%s
"""
GOOD = 'mkdir "$2/cassandra-$1" && echo "{}" >"$2/cassandra-$1/manifest.json"'
BAD = """echo 'a tool complains' >&2; echo '{"message": "checksum of a.jar is wrong"}'; exit 3"""


@pytest.fixture
def bench(tmp_path: Path, settings: LocalSettings) -> LocalSettings:
    """A bake script that waits for a file `go-on` in the cache, and a recipe for 5.0.6."""
    script = tmp_path / "cassandra" / "bake"
    (script.parent / "versions").mkdir(parents=True)
    (script.parent / "versions" / "5.0.6.lock").touch()
    script.write_text(BAKE % GOOD)
    script.chmod(0o755)
    return replace(settings, bake_script=script)


def find(settings: LocalSettings, version: str = "5.0.6") -> Image:
    return LocalProvider(settings).find_image(region="local-1", engine="cassandra", version=version)


def ready(settings: LocalSettings) -> bool:
    return find(settings).state is ImageState.READY


def test_it_makes_an_image_once_and_shows_how_far_it_is(bench: LocalSettings) -> None:
    assert find(bench).state is ImageState.BUILDING
    assert eventually(lambda: find(bench).progress == 0.5, 5)
    assert find(bench).message == "fetching"
    (bench.cache_dir / "go-on").touch()
    assert eventually(lambda: ready(bench), 5)
    assert find(bench) == Image(id="cassandra-5.0.6", state=ImageState.READY)
    assert (bench.cache_dir / "bakes").read_text() == "x\n"


def test_it_says_why_an_image_could_not_be_made_and_tries_anew(bench: LocalSettings) -> None:
    (bench.cache_dir / "go-on").touch()
    bench.bake_script.write_text(BAKE % BAD)

    def failure() -> str:
        try:
            find(bench)
        except ProviderError as error:
            return error.message if error.retryable else f"for good: {error.message}"
        return ""

    assert eventually(lambda: failure() == "Making the image cassandra-5.0.6 failed: checksum of a.jar is wrong", 5)
    bench.bake_script.write_text(BAKE % GOOD)
    assert eventually(lambda: failure() == "" and ready(bench), 5)


def test_it_knows_no_image_of_a_version_without_a_recipe(bench: LocalSettings) -> None:
    with pytest.raises(NotFound):
        find(bench, "5.0.7")
    with pytest.raises(NotFound):
        LocalProvider(bench).find_image(region="local-1", engine="scylla", version="5.0.6")
    with pytest.raises(InvalidRequest):
        find(bench, "../../etc")
    assert not (bench.cache_dir / "bakes").exists()
