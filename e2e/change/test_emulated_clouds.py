"""A cluster is ordered on emulated AWS and Google Cloud, through their own SDKs, down to rows in a real ring."""

import pytest

from e2e.trials.order_on_emulated_cloud import CLOUDS, try_on

pytestmark = pytest.mark.change


@pytest.mark.parametrize("cloud", CLOUDS)
def test_an_order_ends_in_rows_and_a_deletion_leaves_nothing(cloud: str) -> None:
    result = try_on(cloud)
    assert result.good, result.line()
