"""The examples of the client's README run as they stand there, one after the other."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import ringmaster
from ringmaster import Ringmaster

from backend.clusters.tests.conftest import finish_operations
from backend.conftest import Tenant

README = Path(__file__).resolve().parents[1] / "README.md"


@pytest.mark.usefixtures("_catalog")
def test_the_examples_run(
    client_of: Callable[..., Ringmaster],
    tenant: Tenant,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    token = tenant.token()

    def here(url: str, shown: str, **_: Any) -> Ringmaster:
        assert (url, shown) == ("https://ringmaster.example", "rmt_...")
        return client_of(token, sleep=lambda _: finish_operations())

    monkeypatch.setattr(ringmaster, "Ringmaster", here)
    examples = re.findall(r"^```python\n(.*?)^```", README.read_text(), re.MULTILINE | re.DOTALL)
    assert len(examples) == 3
    names: dict[str, Any] = {}
    for example in examples:
        exec(compile(example, str(README), "exec"), names)  # noqa: S102
    said = capsys.readouterr().out
    assert "100%" in said
    assert "termination_protected" in said
