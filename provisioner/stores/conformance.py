"""What every store promises, as tests. A store's test module subclasses this and gives the fixture `place`."""

import threading
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from provisioner.stores.base import ObjectMissing, Part, Store, StoreError, StoreMissing

PART = 5 << 20


def parts(size: int) -> list[Part]:
    begins = range(0, size, PART)
    return [Part(number=n, begin=b, length=min(PART, size - b), size=size) for n, b in enumerate(begins)]


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where a store is tried. `open` gives a store under a prefix; `absent` one whose bucket or folder is not there."""

    open: Callable[[str], Store]
    absent: Callable[[], Store]


class StoreConformance:
    def test_what_is_put_is_got(self, place: Place) -> None:
        store = place.open("a")
        for name, content in (("m/one.json", b"{}"), ("empty", b""), ("big.bin", bytes(range(256)) * 20_000)):
            store.put(name, content)
            assert store.get(name) == content
            assert b"".join(store.chunks(name)) == content
            assert store.size(name) == len(content)

    def test_a_second_put_takes_the_place_of_the_first(self, place: Place) -> None:
        store = place.open("a")
        store.put("x", b"first, and longer")
        store.put("x", b"second")
        assert store.get("x") == b"second"
        assert [found.name for found in store.list("")] == ["x"]

    def test_what_is_not_there_is_said_to_be_missing(self, place: Place) -> None:
        store = place.open("a")
        store.put("there", b"1")
        assert store.size("nothing") is None
        with pytest.raises(ObjectMissing, match="nothing"):
            store.get("nothing")

    def test_deleting_twice_is_deleting_once(self, place: Place) -> None:
        store = place.open("a")
        store.put("x", b"1")
        store.put("y", b"2")
        store.delete(["x", "never-there"])
        store.delete(["x"])
        store.delete([])
        assert [found.name for found in store.list("")] == ["y"]

    def test_a_list_has_names_and_sizes_in_order(self, place: Place) -> None:
        store = place.open("a")
        for name in ("objects/bb/2", "objects/aa/1", "manifests/1", "objects/bb/1"):
            store.put(name, name.encode())
        found = list(store.list("objects/"))
        assert [one.name for one in found] == ["objects/aa/1", "objects/bb/1", "objects/bb/2"]
        assert [one.size for one in found] == [12, 12, 12]
        assert all(one.modified_at.tzinfo is not None for one in found)
        assert list(store.list("other/")) == []

    def test_a_list_can_begin_after_a_name(self, place: Place) -> None:
        store = place.open("a")
        for number in range(4):
            store.put(f"o/{number}", b"1")
        assert [one.name for one in store.list("o/", after="o/1")] == ["o/2", "o/3"]
        assert list(store.list("o/", after="o/9")) == []

    def test_parts_of_an_object_are_read(self, place: Place) -> None:
        store = place.open("a")
        store.put("x", bytes(range(100)))
        assert store.read("x", 10, 5) == bytes(range(10, 15))
        assert store.read("x", 95, 50) == bytes(range(95, 100))
        with pytest.raises(ObjectMissing):
            store.read("nothing", 0, 1)

    def test_an_upload_in_parts_is_seen_when_it_is_finished(self, place: Place) -> None:
        store = place.open("a")
        content = bytes(range(256)) * (PART // 256) * 2 + b"the rest"
        upload = store.begin_upload("o/big", len(content))
        receipts = []
        for part in parts(len(content)):
            assert store.size("o/big") is None
            piece = content[part.begin : part.begin + part.length]
            if part.begin + part.length < len(content):
                # A worker was shot before it wrote the receipt down.
                store.put_part("o/big", upload, part, piece)
            receipts.append(store.put_part("o/big", upload, part, piece))
        store.finish_upload("o/big", upload, receipts)
        assert store.get("o/big") == content

    def test_an_upload_that_is_given_up_leaves_nothing(self, place: Place) -> None:
        store = place.open("a")
        upload = store.begin_upload("o/big", 2 * PART)
        store.put_part("o/big", upload, parts(2 * PART)[0], bytes(PART))
        store.abort_upload("o/big", upload)
        store.abort_upload("o/big", upload)
        assert list(store.list("")) == []
        with pytest.raises(StoreError):
            store.finish_upload("o/big", upload, ["1"])

    def test_a_part_is_copied_by_the_service_or_not_at_all(self, place: Place) -> None:
        one, other = place.open("one"), place.open("other")
        one.put("x", b"all of it")
        upload = other.begin_upload("x", 9)
        part = Part(number=0, begin=0, length=9, size=9)
        receipt = other.copy_part(one, "x", upload, part) or other.put_part("x", upload, part, one.get("x"))
        other.finish_upload("x", upload, [receipt])
        assert other.get("x") == b"all of it"

    def test_prefixes_keep_places_apart(self, place: Place) -> None:
        one, other = place.open("org-1"), place.open("org-2")
        one.put("x", b"of one")
        other.put("x", b"of the other")
        other.delete(["x"])
        assert one.get("x") == b"of one"
        assert list(other.list("")) == []

    def test_a_probe_leaves_nothing_behind(self, place: Place) -> None:
        store = place.open("a")
        store.probe()
        assert list(store.list("")) == []

    def test_what_is_not_there_at_all_is_named(self, place: Place) -> None:
        store = place.absent()
        with pytest.raises(StoreMissing):
            store.probe()
        with pytest.raises(StoreMissing):
            list(store.list(""))
        with pytest.raises(StoreError):
            store.get("x")

    @pytest.mark.parametrize("name", ["../x", "/x", "a//b", "a/../b", "", ".x", "a/", "a b"])
    def test_names_stay_within_their_place(self, place: Place, name: str) -> None:
        store = place.open("a")
        with pytest.raises(ValueError, match="no name"):
            store.put(name, b"1")
        with pytest.raises(ValueError, match="no name"):
            store.delete([name])

    def test_of_two_puts_at_once_one_is_there_whole(self, place: Place) -> None:
        contents = [bytes([letter]) * 300_000 for letter in b"abcd"]
        stores = [place.open("a") for _ in contents]
        threads = [
            threading.Thread(target=_put, args=(store, "x", content))
            for store, content in zip(stores, contents, strict=True)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert stores[0].get("x") in contents


def _put(store: Store, name: str, content: bytes) -> None:
    """As an operation does it: what may go away by itself is tried again."""
    for _ in range(10):
        try:
            store.put(name, content)
        except StoreError as error:
            if not error.retryable:
                raise
        else:
            return
    raise AssertionError(f"{name} was never stored")
