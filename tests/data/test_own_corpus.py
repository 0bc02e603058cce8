"""The reader's own files as a corpus, and everything that files can be instead of text."""

import json
import pickle
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertbook.data import DataError, load_corpus
from bertbook.data.own_records import parse_row, read_records

POEM = "First line.\nSecond line.\n\nAnother text. It has two.\n"


def write(path: Path, content: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def sentences(path: Path, **options: str) -> list[tuple[str, ...]]:
    return [document.sentences for document in load_corpus(path, "all", **options)]  # type: ignore[arg-type]


def test_blank_lines_part_documents(tmp_path: Path) -> None:
    corpus = load_corpus(str(write(tmp_path / "poems/a.txt", POEM)), "all")
    assert [(d.sentences, d.source, d.name) for d in corpus] == [
        (("First line.", "Second line."), "poems", "a.txt, byte 0"),
        (("Another text.", "It has two."), "poems", "a.txt, byte 26"),
    ]
    assert corpus.counts == {"documents": 2, "sentences": 4, "characters": sum(map(len, "".join(POEM.split("\n")))) - 1}
    assert (corpus.name, corpus.split, corpus.card, corpus.language) == (
        str(tmp_path / "poems/a.txt"),
        "all",
        None,
        None,
    )
    assert corpus[-1].sentences == corpus[1].sentences == corpus[1:][0].sentences
    with pytest.raises(IndexError):
        corpus[2]


def test_a_file_as_one_document(tmp_path: Path) -> None:
    write(tmp_path / "a.txt", POEM)
    write(tmp_path / "below/b.TXT", "\n\nOnly one.\n\n")
    corpus = load_corpus(tmp_path, "all", documents="file")
    assert [(d.sentences, d.source) for d in corpus] == [
        (("First line.", "Second line.", "Another text.", "It has two."), tmp_path.name),
        (("Only one.",), f"{tmp_path.name}/below"),
    ]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.txt", "Dr. Smith came. He left.\n\n她来了。他走了。\n"),
        ("a.jsonl", '{"text": "Dr. Smith came. He left."}\n\n"她来了。他走了。"\n'),
        ("b.jsonl", '{"sentences": ["Dr. Smith came.", "He left."], "id": 3}\n{"sentences": ["她来了。他走了。"]}'),
        ("a.csv", 'id,text\n1,"Dr. Smith came. He left."\n2,她来了。他走了。\n'),
        ("b.csv", 'text,id\r\n"Dr. Smith came.\r\nHe left.",1\r\n\r\n她来了。他走了。,2'),
        ("a.tsv", "id\ttext\n1\tDr. Smith came. He left.\n2\t她来了。他走了。\n"),
    ],
)
def test_every_kind_of_file(name: str, content: str, tmp_path: Path) -> None:
    assert sentences(write(tmp_path / name, content)) == [("Dr. Smith came.", "He left."), ("她来了。", "他走了。")]
    with_mark = b"\xef\xbb\xbf" + content.replace("\r\n", "\n").replace("\n", "\r\n").encode()
    assert sentences(write(tmp_path / name, with_mark)) == [("Dr. Smith came.", "He left."), ("她来了。", "他走了。")]


def test_kinds_may_be_mixed_in_a_folder(tmp_path: Path) -> None:
    write(tmp_path / "b.txt", "Of b.")
    write(tmp_path / "a.jsonl", '{"text": "Of a."}')
    write(tmp_path / ".DS_Store", b"\0\0")
    write(tmp_path / "__MACOSX/b.txt", b"\0\0")
    write(tmp_path / "empty.txt", "")  # one empty file among others is passed over
    assert sentences(tmp_path) == [("Of a.",), ("Of b.",)]


def test_repeats_are_left_out_before_the_split(tmp_path: Path) -> None:
    texts = [f"Text number {number}." for number in range(200)]
    path = write(tmp_path / "a.txt", "\n\n".join([*texts, texts[7] + "  ", *texts[:5]]))
    train, held_out, both = (list(load_corpus(path, split)) for split in ("train", "held-out", "all"))
    assert [d.sentences for d in both] == [(text,) for text in texts]
    assert len(held_out) == 10  # five blocks of two
    assert sorted(d.name for d in train + held_out) == sorted(d.name for d in both)
    at = both.index(held_out[0])
    assert both[at : at + 2] == held_out[:2]


def test_few_documents_are_all_for_training(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", "Alone.")
    assert [d.sentences for d in load_corpus(path)] == [("Alone.",)]  # a document of one sentence is one
    with pytest.raises(DataError, match=r"held out of at least 20 documents, and here are 1\. Load split='train'"):
        load_corpus(path, "held-out")


def test_the_language_can_be_said(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", "价格是３．５元。ok?yes")
    assert sentences(path, language="zh") == [("价格是３．５元。", "ok?yes")]


def test_a_corpus_goes_to_other_processes(tmp_path: Path) -> None:
    corpus = load_corpus(write(tmp_path / "a.txt", POEM), "all")
    assert list(pickle.loads(pickle.dumps(corpus))) == list(corpus)


def test_a_file_that_changes_afterwards(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", POEM)
    corpus = load_corpus(path, "all")
    write(path, POEM + "More.")
    with pytest.raises(DataError, match=r"a.txt has changed since the corpus was loaded: load it again"):
        corpus[0]


# --- odd text that is text --------------------------------------------------------------------------------------


def test_a_line_of_a_million_characters(tmp_path: Path) -> None:
    line = "The cat sat on the mat. " * 42_000
    for name, content in (("a.txt", line), ("a.csv", f"text\n{line}"), ("a.jsonl", json.dumps({"text": line}))):
        (document,) = load_corpus(write(tmp_path / name, content), "all")
        assert len(document) == 42_000
    (document,) = load_corpus(write(tmp_path / "a.txt", "字" * 1_000_000), "all")
    assert document.sentences == ("字" * 1_000_000,)


def test_unicodes_own_line_ends_are_characters_of_the_line(tmp_path: Path) -> None:
    """They end a sentence, as "\\n" does, but no document, no record and no row."""
    text = "One\u2028two\u2029three\x0bfour\x0cfive\x85six"
    expected = [("One", "two", "three", "four", "five", "six")]
    assert sentences(write(tmp_path / "a.txt", text)) == expected
    assert sentences(write(tmp_path / "a.jsonl", json.dumps({"text": text}, ensure_ascii=False))) == expected
    assert sentences(write(tmp_path / "a.csv", f"text,id\n{text},1")) == expected
    assert sentences(write(tmp_path / "a.tsv", f"text\tid\n{text}\t1")) == expected


def test_characters_without_width_are_kept_but_make_no_text(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", "\u200b\nWith\u200bin.\n\u200b \u2060\nNext.\n\ufeff\n\u00ad\n")
    assert sentences(path) == [("With\u200bin.",), ("Next.",)]
    assert sentences(write(tmp_path / "a.jsonl", '{"text": "\\u200b"}\n{"text": "A\\u200bb"}')) == [("A\u200bb",)]


def test_windows_line_ends(tmp_path: Path) -> None:
    assert sentences(write(tmp_path / "a.txt", POEM.replace("\n", "\r\n"))) == sentences(
        write(tmp_path / "b.txt", POEM)
    )


def test_old_macintosh_line_ends_end_sentences(tmp_path: Path) -> None:
    assert sentences(write(tmp_path / "a.txt", "One\rTwo\r\rThree")) == [("One", "Two", "Three")]


AWKWARD = st.text(st.sampled_from('a字",\n\t \u2028\u200b\x0b😀；。'), max_size=12)


@given(st.lists(st.tuples(AWKWARD, AWKWARD), max_size=5))
def test_a_row_is_the_same_read_in_order_and_by_its_bytes(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str]]
) -> None:
    def quoted(field: str) -> str:
        return '"' + field.replace('"', '""') + '"'

    path = tmp_path_factory.mktemp("rows") / "a.csv"
    write(path, "one,two\n" + "".join(f"{quoted(a)},{quoted(b)}\n" for a, b in rows))
    records = list(read_records(path))
    assert [tuple(record.fields.values()) for record in records] == rows
    content = path.read_bytes()
    again = [parse_row(content[r.start : r.end].decode(), ("one", "two"), ".csv") for r in records]
    assert again == [record.fields for record in records]


# --- what is no text --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.txt", "", r"a.txt is empty: there is no text in it"),
        ("a.txt", " \n\u200b\n\r\n", r"a.txt is empty"),
        ("a.jsonl", '{"text": " "}\n', r"a.jsonl is empty"),
        ("a.csv", "text\n", r"a.csv is empty"),
        ("a.txt", b"Text.\nMore\0.\n", r"a.txt, line 2: byte 0x00 at offset 10: this is binary data"),
        ("a.txt", b"PK\x03\x04...", r"a.txt is a zip archive \(as .docx, .xlsx and .epub are\)"),
        ("a.txt", b"%PDF-1.4", r"a.txt is a PDF"),
        ("a.csv", b"\x1f\x8b\x08", r"a.csv is a gzip archive"),
        ("a.txt", "Text.".encode("utf-16"), r"a.txt is UTF-16 \(little-endian\).*offset 0 .*iconv -f UTF-16 -t UTF-8"),
        ("a.txt", b"\xfe\xff" + "Text.".encode("utf-16-be"), r"a.txt is UTF-16 \(big-endian\)"),
        ("a.txt", "Text.".encode("utf-32"), r"a.txt is UTF-32 \(little-endian\)"),
        ("a.txt", "Some text.".encode("utf-16-le"), r"seems to be UTF-16 \(little-endian\) without.*offset 1"),
        ("a.txt", "Some text.".encode("utf-16-be"), r"seems to be UTF-16 \(big-endian\) without.*offset 0"),
        ("a.txt", b"One.\nIt costs \xa35.", r"line 2: byte 0xa3 at offset 14 is not UTF-8. As Windows-1252 .*costs £5"),
        (
            "a.txt",
            "这是中文。\n".encode("gb18030"),
            r"line 1: byte 0xd5 at offset 0 .* As GB18030 .*这是中文.*-f GB18030",
        ),
        ("a.txt", "字\n".encode() + b"caf\xe9", r"line 2: byte 0xe9 at offset 7 .*Windows-1252.*'café'"),
        ("a.txt", b"\xef\xbb\xbfA\xff", r"line 1: byte 0xff at offset 4 "),
        ("a.jsonl", '{"text": "ok"}\n{"text": ', r"line 2: no JSON: Expecting value at character 9"),
        ("a.jsonl", "[1, 2]\n", r"line 1: a JSON list; expected an object"),
        ("a.jsonl", '{"txt": "a"}\n', r'line 1: expected a field "text".* there is txt \(str\)'),
        ("a.jsonl", '{"sentences": "a"}\n', r'line 1: expected a field "text".* sentences \(str\)'),
        ("a.jsonl", '{"text": "a\\ud83d"}\n', r"line 1: character 1 is \\ud83d, half of a pair of surrogates"),
        ("a.jsonl", '{"sentences": ["a", "\\udc00"]}\n', r"line 1: character 0 is \\udc00"),
        ("a.jsonl", "[" * 100_000, r"line 1: (brackets within brackets|no JSON)"),
        (
            "a.csv",
            'id,text\n1,ok\n2,"never closed\n3,more\n4,end\n',
            r'line 3: a quote \("\) is opened here and not closed',
        ),
        ("a.csv", 'id,text\n1,"closed" too soon\n', r"line 2: a quote .* not closed where the field ends"),
        ("a.csv", "id,text\n1,a,b\n", r"line 2: 3 fields, where the first line names 2 \(id, text\)"),
        ("a.csv", "id,text\n1,a\rb\n", r"line 2: a carriage return stands in the middle"),
        ("a.csv", "text,text\na,b\n", r"line 1: the names of the columns are \['text', 'text'\]"),
        ("a.csv", "id,txt\n1,a\n", r'line 2: expected a field "text".* there is id \(str\), txt \(str\)'),
        ("a.md", "Text.", r"a.md: the name of a file says what it is; it ends in one of .txt, .jsonl, .csv, .tsv"),
    ],
)
def test_refused(name: str, content: str | bytes, message: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=f"(?s){message}") as failed:
        load_corpus(write(tmp_path / name, content))
    assert name in str(failed.value)
    assert failed.value.__cause__ is None or failed.value.__suppress_context__


def test_a_surrogate_pair_is_one_character(tmp_path: Path) -> None:
    assert sentences(write(tmp_path / "a.jsonl", '{"text": "\\ud83d\\ude00"}')) == [("😀",)]


def test_a_folder_with_other_files(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"is empty: there is no file in it that ends in .txt"):
        load_corpus(tmp_path)
    write(tmp_path / "a.txt", "")
    with pytest.raises(DataError, match="all files are empty"):
        load_corpus(tmp_path)
    write(tmp_path / "paper.pdf", b"%PDF")
    write(tmp_path / "notes.docx", b"PK")
    with pytest.raises(DataError, match=r"holds notes.docx and 1 more: only files that end in .txt.*Move the others"):
        load_corpus(tmp_path)


def test_the_error_names_the_file_of_a_folder(tmp_path: Path) -> None:
    write(tmp_path / "a.txt", "Text.")
    write(tmp_path / "below/b.txt", b"Text.\n\xff")
    with pytest.raises(DataError, match=r"below.b.txt, line 2: byte 0xff at offset 6"):
        load_corpus(tmp_path)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (("bbc_news",), ValueError, r"there is no corpus 'bbc_news': choose one of peoples-daily, .*mean 'bbc-news'\?"),
        (("",), ValueError, r"there is no corpus ''"),
        (("qqqqqq",), ValueError, r"or 'hf:owner/name'\.$"),
        (("missing.txt",), FileNotFoundError, r"there is no file or folder missing.txt"),
        (("missing/folder",), FileNotFoundError, r"there is no file or folder missing"),
        ((Path("sotuu"),), FileNotFoundError, r"there is no file or folder sotuu"),
        (("sotu", "test"), ValueError, r"split='test': choose one of 'train', 'held-out', 'all'"),
        (("hf:",), DataError, r"'hf:' names nothing. A source is 'hf:owner/name'"),
    ],
)
def test_names_that_mean_nothing(arguments: tuple[str, ...], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        load_corpus(*arguments)


def test_options_that_mean_nothing(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="language='de': choose one of None, 'en', 'zh'"):
        load_corpus(tmp_path, language="de")
    with pytest.raises(ValueError, match="documents='line': choose one of 'blank-line', 'file'"):
        load_corpus(tmp_path, documents="line")
