"""What is counted is never given back, and padding pays for itself."""

import pytest
from each_case import each

from representer.io.allowance import SPARE_BYTES, Allowance, MemoryLimitError, json_bytes, padding_for


def test_the_sum_of_all_steps_is_bounded():
    allowance = Allowance(1000)
    allowance.take(1500, "arrays")
    with pytest.raises(MemoryLimitError, match=r"sets could take 8\.39 MB, and reading 1000 bytes may take 8\.39 MB"):
        allowance.take(SPARE_BYTES + 501, "sets")
    Allowance(1000, limit=10).take(10, "arrays")


@each(("size", "taken"), [(1000, SPARE_BYTES), (1000, SPARE_BYTES + 9999), (10**9, 10**9)])
def test_padded_files_may_take_what_they_take(size, taken):
    padding = padding_for(size, taken)
    Allowance(size + padding).take(taken, "all")
    assert padding == 0 or 2 * (size + padding - 1) + SPARE_BYTES < taken


def test_wide_strings_are_counted():
    assert json_bytes('["a"]') == 10 + 96
    assert json_bytes('["\\u00e9"]') == 50 + 96
