"""The names that ``bertbook.check`` offers."""

import importlib
import re
import subprocess
import sys

import pytest

from bertbook import check


def test_each_is_there_with_its_parameter_and_its_words() -> None:
    for name in check.__all__:
        function = getattr(check, name)
        assert function.__name__ == name
        assert function.__doc__.startswith(f"Exercise {name.rpartition('_')[2]}.")
    assert dir(check) == sorted(check.__all__)


def test_no_exercise_of_a_chapter_is_left_out() -> None:
    chapters = {name.rpartition("_")[0] for name in check.__all__}
    written = [
        name
        for chapter in chapters
        for name in vars(importlib.import_module(f"bertbook.check.{chapter}"))
        if re.fullmatch(rf"{chapter}_\d+", name)
    ]
    assert sorted(written) == sorted(check.__all__)


def test_a_near_miss_is_named_and_all_are_listed() -> None:
    with pytest.raises(AttributeError, match="'atention_1'; did you mean attention_1") as caught:
        check.atention_1  # noqa: B018
    assert str(caught.value).endswith(", ".join(check.__all__))


def test_a_far_miss_gets_the_list_alone() -> None:
    with pytest.raises(
        AttributeError, match=rf"no exercise is called 'zzz'\. There are {check.__all__[0]}, "
    ) as caught:
        check.zzz  # noqa: B018
    assert "did you mean" not in str(caught.value)


def test_the_list_waits_for_no_torch() -> None:
    code = "import sys, bertbook.check as c; dir(c); assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
