import pytest

# A failed promise should say what it found.
pytest.register_assert_rewrite("provisioner.engines.conformance")
