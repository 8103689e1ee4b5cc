"""What the documents tell users is what the trials try."""

from e2e.serving import CHECKOUT


def test_the_retry_policy_in_the_documents_is_the_one_that_the_trials_use() -> None:
    used = (CHECKOUT / "e2e" / "trials" / "retry_idempotent.py").read_text()
    code = used[used.index("from cassandra") :]
    assert f"```python\n{code}```\n" in (CHECKOUT / "docs" / "applications.md").read_text()
