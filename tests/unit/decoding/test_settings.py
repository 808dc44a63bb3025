"""Settings of decoding that a program passes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from docflat.decoding.settings import DecodingSettings
from docflat.support.errors import InputError


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"beam": 2.5}, "beam must be a whole number, not 2.5"),
        ({"beam": True}, "beam must be a whole number, not True"),
        ({"window": "16"}, "window must be a whole number, not '16'"),
        ({"batch_size": 2.5}, "batch_size must be a whole number, not 2.5"),
        ({"edit_context": 1.0}, "edit_context must be a whole number, not 1.0"),
        ({"length_penalty": "1"}, "length_penalty must be a number, not '1'"),
        ({"tolerance": None}, "tolerance must be a number, not None"),
        ({"beam": 0}, "beam must be at least 1"),
        ({"length_penalty": float("nan")}, "length_penalty must be finite and not negative"),
        ({"tolerance": float("nan")}, "tolerance must not be negative"),
        ({"mode": ["edit"]}, "mode ['edit']: there are"),
    ],
)
def test_what_is_no_setting_is_an_error_that_names_it(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as error:
        DecodingSettings(**settings)
    assert str(error.value).startswith(message)


def test_numbers_of_numpy_are_numbers() -> None:
    settings = DecodingSettings(beam=np.int64(2), length_penalty=np.float32(0.5), tolerance=1)  # type: ignore[arg-type]
    assert (settings.beam, settings.length_penalty, settings.tolerance) == (2, 0.5, 1)
