from pathlib import Path

import pytest

from provisioner.stores import registry
from provisioner.stores.base import Store, StoreRefused, StoreSpec
from provisioner.stores.conformance import Place, StoreConformance


class TestFolder(StoreConformance):
    @pytest.fixture
    def place(self, tmp_path: Path) -> Place:
        def at(folder: Path, prefix: str) -> Store:
            return registry.store(StoreSpec(kind="folder", folder=str(folder), prefix=prefix))

        return Place(open=lambda prefix: at(tmp_path, prefix), absent=lambda: at(tmp_path / "absent", "a"))


def test_what_is_half_written_is_not_listed(tmp_path: Path) -> None:
    store = registry.store(StoreSpec(kind="folder", folder=str(tmp_path)))
    store.put("x", b"1")
    (tmp_path / ".partial-0123").write_bytes(b"half")
    assert [found.name for found in store.list("")] == ["x"]


def test_a_folder_that_may_not_be_written_is_refused() -> None:
    # Where not even root may make files.
    with pytest.raises(StoreRefused, match="cannot be written"):
        registry.store(StoreSpec(kind="folder", folder="/sys")).probe()
