"""Documents: what they refuse."""

from typing import Any

import pytest

from bertbook.text.documents import Document


def test_a_document() -> None:
    document = Document(("One.", "Two."), "bbc-news/business", "001.txt")
    assert len(document) == 2
    assert document == Document(["One.", "Two."], "bbc-news/business", "001.txt")  # type: ignore[arg-type]
    assert hash(document) == hash(Document(("One.", "Two."), "bbc-news/business", "001.txt"))


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"sentences": ()}, ValueError, "a document has no sentence"),
        ({"sentences": (), "name": "a.txt"}, ValueError, r"document 'a\.txt' has no sentence"),
        ({"sentences": ("One.", " \u3000")}, ValueError, r"sentences\[1\] is blank"),
        ({"sentences": ("One.", "")}, ValueError, r"sentences\[1\] is blank"),
        ({"sentences": "One. Two."}, TypeError, r"sentences is str: expected a tuple.*split_sentences"),
        ({"sentences": None}, TypeError, "sentences is NoneType"),
        ({"sentences": ("One.", 2)}, TypeError, r"sentences\[1\] is int"),
        ({"sentences": ("One.",), "source": None}, TypeError, "source is NoneType"),
        ({"sentences": ("One.",), "name": 7}, TypeError, "name is int"),
    ],
)
def test_what_is_no_document(arguments: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        Document(**arguments)
