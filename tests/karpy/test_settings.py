from __future__ import annotations

import pytest

from karpy.errors import InvalidObject
from karpy.settings import Settings


def test_pods_that_claim_devices_cannot_be_asked_for() -> None:
    assert Settings(ignore_dra_requests=True) == Settings()
    with pytest.raises(InvalidObject, match=r"Settings: ignore_dra_requests: found False: .* \(accepted: True\)"):
        Settings(ignore_dra_requests=False)
