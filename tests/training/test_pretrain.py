"""From a folder of text to a model: what comes out, what is said, what is chosen, what is refused."""

import math
import random
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from small_run import SETTINGS
from small_run import write_config as write_small_run
from torch import Tensor

from bertbook import BertConfig, BertForMaskedLM, BertForPreTraining, Tokenizer, load_pretrained, save_pretrained
from bertbook.data import DataError
from bertbook.training import DivergedError, PretrainConfig, PretrainResult, evaluation, pretrain
from bertbook.training.config_files import read_settings

ANIMALS = ["cat", "dog", "owl", "fox", "hare", "wolf"]
FOODS = ["mice", "bones", "moths", "geese", "clover", "sheep"]


def story(draw: random.Random, sentences: int) -> str:
    """Each animal eats its own food: what a masked word was can be told from its neighbours."""
    lines = []
    for _ in range(sentences):
        kind = draw.randrange(len(ANIMALS))
        lines.append(f"The {draw.choice(['old', 'young'])} {ANIMALS[kind]} eats {FOODS[kind]}.")
    return "\n".join(lines)


def folder_of(path: Path, documents: int, sentences: int = 5, files: int = 2) -> Path:
    """Text of one's own: some files, with documents between blank lines."""
    path.mkdir(parents=True)
    draw = random.Random(documents)
    stories = [story(draw, sentences) for _ in range(documents)]
    for number in range(files):
        (path / f"{number}.txt").write_text("\n\n".join(stories[number::files]), encoding="utf-8")
    return path


def settings(corpus: Path | Sequence[str], out: Path, **changes: Any) -> dict[str, Any]:
    given = corpus if not isinstance(corpus, Path) else str(corpus)
    return {**SETTINGS, "objective": None, "corpus": given, "out": str(out), "language": "en", "steps": 2, **changes}


@pytest.fixture(scope="module", autouse=True)
def no_trial_of_float32() -> Iterator[None]:
    """It takes a second a run, and has tests of its own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("bertbook.training.pretraining.fast_float32", lambda: "float32 stays as it was")
        yield


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return folder_of(tmp_path_factory.mktemp("own") / "texts", 80)


@pytest.fixture(scope="module")
def run(texts: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[PretrainResult, list[str], dict[str, Any]]:
    """One run for many tests: the result, what it said, its settings."""
    said: list[str] = []
    given = settings(
        texts, tmp_path_factory.mktemp("run") / "out", steps=150, learning_rate=0.01, log_every=10, eval_every=50,
        save_every=75, model={**SETTINGS["model"], "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0},
    )  # fmt: skip
    return pretrain(given, show=False, say=said.append), said, given


def refused(given: dict[str, Any], message: str, kind: type[Exception] = ValueError) -> None:
    with pytest.raises(kind, match=message):
        pretrain(given, show=False, say=lambda _: None)


class TestOwnText:
    def test_the_loss_falls_below_what_frequencies_score(self, run: tuple[PretrainResult, list[str], Any]) -> None:
        result = run[0]
        training = [entry for entry in result.log if "loss" in entry]
        assert [entry["step"] for entry in training] == list(range(10, 151, 10))
        assert training[-1]["loss"] < 0.6 * training[0]["loss"]
        held_out = [entry for entry in result.log if "held_out/mlm_loss" in entry]
        assert [entry["step"] for entry in held_out] == [32, 50, 100, 150]
        assert result.baseline is not None
        assert held_out[-1]["held_out/mlm_loss"] < 0.8 * result.baseline["mlm_loss"]
        assert held_out[-1]["held_out/mlm_accuracy"] > result.baseline["mlm_accuracy"]
        assert set(held_out[0]) == {
            "step",
            *(f"held_out/{a}_{b}" for a in ("mlm", "nsp") for b in ("loss", "accuracy")),
        }
        assert result.interrupted == ""

    def test_the_model_loads(self, run: tuple[PretrainResult, list[str], Any]) -> None:
        folder = run[0].folder
        both, tokenizer = load_pretrained(folder, head="pretraining")
        words, _ = load_pretrained(folder, head="mlm")
        assert isinstance(both, BertForPreTraining)
        assert isinstance(words, BertForMaskedLM)
        batch = tokenizer("The old owl eats [MASK].")
        with torch.no_grad():
            first, second = both(**batch).logits, words(**batch).logits
        torch.testing.assert_close(first, second)
        place = batch["input_ids"][0].tolist().index(tokenizer.mask_token_id)
        assert tokenizer.backend.id_to_token(int(second[0, place].argmax())) in FOODS

    def test_what_lies_in_its_folder(self, run: tuple[PretrainResult, list[str], Any]) -> None:
        result, _, given = run
        out = result.folder.parent
        assert result.folder == Path(given["out"]) / "model"
        assert {"config.yaml", "log.jsonl", "model", "tokenizer", "checkpoints"} <= {
            path.name for path in out.iterdir()
        }
        assert sorted(path.name for path in (out / "checkpoints").iterdir()) == ["step-00000075", "step-00000150"]
        assert PretrainConfig(**read_settings(out / "config.yaml")) == PretrainConfig(**given)
        assert not list(out.rglob("*.new"))

    def test_what_it_says(self, run: tuple[PretrainResult, list[str], Any]) -> None:
        said = "\n".join(run[1])
        for told in (
            r"Model: 2 layers, hidden size 32, [\d,]+ tokens in the vocabulary, [\d,]+ parameters; on cpu, float32",
            r"Text: \d+ steps an epoch, of about \d+ tokens; objective: masked words and next sentence",
            r"To beat on held-out text, .* frequencies of tokens alone: mlm_loss \d\.\d{3}, mlm_accuracy 0\.\d{3}",
            r"Budget: 150 steps, about \d+\.\d minutes where nothing else runs",
            r"All goes into .*out\. Ctrl-C saves, and the same call goes on",
            r"Done: 150 steps, [\d,]+ tokens\. The model: .*model",
        ):
            assert len(re.findall(told, said)) == 1, told

    def test_once_more_there_is_nothing_to_do(self, run: tuple[PretrainResult, list[str], Any]) -> None:
        again = pretrain(run[2], show=False, say=lambda _: None)
        assert again.log == run[0].log
        assert again.baseline == run[0].baseline

    def test_other_settings_are_refused_by_name(self, run: tuple[PretrainResult, list[str], Any]) -> None:
        refused({**run[2], "learning_rate": 0.02}, r"holds a run with other settings: learning_rate: 0\.01, now 0\.02")

    def test_goes_on_from_a_trained_model(
        self, run: tuple[PretrainResult, list[str], Any], texts: Path, tmp_path: Path
    ) -> None:
        """With its weights, its tokenizer and its sizes: the loss begins where that of the first run ended."""
        given = settings(texts, tmp_path / "on", start=str(run[0].folder), learning_rate=1e-6, eval_every=2)
        del given["model"]
        result = pretrain(given, show=False, say=lambda _: None)
        (held_out,) = (entry for entry in result.log if "held_out/mlm_loss" in entry)
        before = run[0].log[-1]
        assert held_out["held_out/mlm_loss"] == pytest.approx(before["held_out/mlm_loss"], rel=1e-3)
        model, tokenizer = load_pretrained(result.folder, head="pretraining")
        assert tokenizer.vocab == load_pretrained(run[0].folder)[1].vocab
        assert model.config == load_pretrained(run[0].folder, head="pretraining")[0].config


class TestHowAChoiceIsMade:
    """Next sentence where documents follow each other; sentence order of one document; else words alone."""

    @pytest.mark.parametrize(
        ("documents", "sentences", "objective", "head"),
        [(40, 4, "next sentence", "pretraining"), (1, 60, "sentence order", "pretraining"), (60, 1, "", "mlm")],
    )
    def test_of_the_objective(self, documents: int, sentences: int, objective: str, head: str, tmp_path: Path) -> None:
        said: list[str] = []
        corpus = folder_of(tmp_path / "texts", documents, sentences, files=1)
        result = pretrain(settings(corpus, tmp_path / "out", batch_size=4), show=False, say=said.append)
        (line,) = (line for text in said for line in text.splitlines() if "objective: " in line)
        assert line.endswith("masked words" + (f" and {objective}" if objective else ""))
        model, _ = load_pretrained(result.folder, head=head)
        assert isinstance(model, BertForPreTraining if head == "pretraining" else BertForMaskedLM)
        held_out = [key for entry in result.log for key in entry if key.startswith("held_out/nsp")]
        assert bool(held_out) == (documents == 40)

    def test_a_small_text_holds_nothing_out(self, tmp_path: Path) -> None:
        said: list[str] = []
        corpus = folder_of(tmp_path / "texts", 6, 8)
        result = pretrain(settings(corpus, tmp_path / "out", batch_size=2), show=False, say=said.append)
        assert result.baseline is None
        assert "Held out: nothing, the text has too few documents for it" in "\n".join(said)
        assert not [key for entry in result.log for key in entry if key.startswith("held_out")]


def test_several_corpora_are_one(tmp_path: Path) -> None:
    """The names say which vocabulary comes from where."""
    corpora = [str(folder_of(tmp_path / name, count)) for name, count in (("one", 30), ("two", 50))]
    (tmp_path / "two" / "0.txt").write_text("Zebras graze here.\nZebras graze there.\n", encoding="utf-8")
    result = pretrain(settings(corpora, tmp_path / "out"), show=False, say=lambda _: None)
    vocabulary = load_pretrained(result.folder)[1].vocab
    assert {"zebras", "moths"} <= vocabulary.keys()


def test_phases_change_the_batches(texts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shapes: list[tuple[int, int, bool]] = []
    forward = BertForPreTraining.forward

    def noting(self: BertForPreTraining, input_ids: Tensor, **inputs: Any) -> Any:
        shapes.append((len(input_ids), int(inputs["attention_mask"].sum(1).max()), self.training))
        return forward(self, input_ids, **inputs)

    monkeypatch.setattr(BertForPreTraining, "forward", noting)
    phases = [{"until": 0.8, "max_length": 16, "batch_size": 12}, {"until": 1, "max_length": 32, "batch_size": 4}]
    given = settings(texts, tmp_path / "out", steps=10, phases=phases, eval_every=10)
    pretrain(given, show=False, say=lambda _: None)
    steps = [(rows, length > 16) for rows, length, training in shapes if training][-10:]  # before: to see how long
    assert [rows for rows, _ in steps] == [12] * 8 + [4] * 2
    assert not any(long for _, long in steps[:8])
    assert any(long for _, long in steps[8:])


def test_what_is_held_out_does_not_hang_on_the_seed(
    texts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept: list[evaluation.HeldOut] = []

    class Keeping(evaluation.HeldOut):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            kept.append(self)

    monkeypatch.setattr("bertbook.training.pretraining.HeldOut", Keeping)
    for seed in (0, 1):
        given = settings(texts, tmp_path / str(seed), seed=seed, mask_rate=0.3, mask_share=1.0, random_share=0.0)
        pretrain(given, show=False, say=lambda _: None)
    for one, two in zip(kept[0].batches, kept[1].batches, strict=True):
        assert all(torch.equal(one[name], two[name]) for name in one)


def test_a_loss_that_diverges_ends_the_run(texts: Path, tmp_path: Path) -> None:
    given = settings(texts, tmp_path / "out", steps=50, learning_rate=1e25, max_grad_norm=None, warmup=0.0)
    refused(
        given, r"step \d+ diverged: .*examples \d+.* the largest activation is .*last good state is in", DivergedError
    )


def test_settings_from_a_file(texts: Path, tmp_path: Path) -> None:
    path = write_small_run(tmp_path, steps=2)
    result = pretrain(path, show=False, say=lambda _: None)
    assert result.folder == tmp_path / "out" / "model"
    assert math.isfinite(result.log[0]["loss"])


class TestRefused:
    def test_unknown_settings(self, texts: Path, tmp_path: Path) -> None:
        refused(
            settings(texts, tmp_path / "out", learning_rat=1), r"no setting learning_rat; did you mean learning_rate\?"
        )

    def test_too_little_text_for_a_batch(self, tmp_path: Path) -> None:
        corpus = folder_of(tmp_path / "texts", 3)
        refused(
            settings(corpus, tmp_path / "out", batch_size=64),
            r"texts, at max_length=32: \d+ examples make no step of 64 .*: choose a smaller batch, or take more text",
        )

    def test_after_a_refusal_one_may_begin_again(self, tmp_path: Path) -> None:
        """What was refused left no run: its folder may be used with other settings, also of the tokenizer."""
        corpus = folder_of(tmp_path / "texts", 30)
        refused(settings(corpus, tmp_path / "out", batch_size=500), "make no step of 500")
        result = pretrain(settings(corpus, tmp_path / "out", vocab_size=60), show=False, say=lambda _: None)
        assert len(load_pretrained(result.folder)[1]) <= 60

    @pytest.mark.parametrize(
        ("name", "content", "message"),
        [
            ("a.txt", " \n\n", "all files are empty"),
            ("a.pdf", "text", r"holds a\.pdf: only files that end in \.txt"),
            (".hidden", "text", "is empty: there is no file in it that ends in"),
        ],
    )
    def test_no_text(self, name: str, content: str, message: str, tmp_path: Path) -> None:
        (tmp_path / "texts").mkdir()
        (tmp_path / "texts" / name).write_text(content, encoding="utf-8")
        refused(settings(tmp_path / "texts", tmp_path / "out"), message, DataError)

    def test_no_folder(self, tmp_path: Path) -> None:
        refused(settings(tmp_path / "texts", tmp_path / "out"), "there is no file or folder .*texts", FileNotFoundError)

    def test_a_table_smaller_than_the_vocabulary(self, texts: Path, tmp_path: Path) -> None:
        model = {**SETTINGS["model"], "vocab_size": 20}
        refused(
            settings(texts, tmp_path / "out", model=model),
            r"model\.vocab_size=20, and the tokenizer has \d+ tokens: leave model\.vocab_size out, or make it larger",
        )

    def test_a_tokenizer_larger_than_the_model_to_start_from(self, texts: Path, tmp_path: Path) -> None:
        start, large = tmp_path / "start", tmp_path / "large"
        tokenizer = vocabulary(*"abcdefg")
        sizes: dict[str, Any] = {**SETTINGS["model"], "vocab_size": len(tokenizer), "max_position_embeddings": 40}
        save_pretrained(BertForPreTraining(BertConfig(**sizes)), tokenizer, start)
        words = ["the", "old", "young", "eats", ".", *ANIMALS, *FOODS]
        large.mkdir()
        vocabulary(*words).save(large)
        given = settings(texts, tmp_path / "out", start=str(start), tokenizer=str(large))
        del given["model"]
        refused(given, r"the tokenizer .*large has 22 tokens, the model .*start 12: leave tokenizer out")

    def test_a_model_to_start_from_with_fewer_positions(self, texts: Path, tmp_path: Path) -> None:
        tokenizer = vocabulary("the", "old", "young", "eats", ".", *ANIMALS, *FOODS)
        sizes: dict[str, Any] = {**SETTINGS["model"], "vocab_size": len(tokenizer), "max_position_embeddings": 20}
        save_pretrained(BertForPreTraining(BertConfig(**sizes)), tokenizer, tmp_path / "start")
        given = settings(texts, tmp_path / "out", start=str(tmp_path / "start"), max_length=32)
        del given["model"]
        refused(given, r"max_length=32, and the model .*start has 20 positions: shorten the sequences")

    def test_a_tokenizer_of_another_language(self, texts: Path, tmp_path: Path) -> None:
        (tmp_path / "zh").mkdir()
        vocabulary(*"天地玄黄宇宙洪荒").save(tmp_path / "zh")
        refused(
            settings(texts, tmp_path / "out", tokenizer=str(tmp_path / "zh")),
            r"100% of the text is \[UNK\] in a vocabulary of 13 tokens: raise vocab_size, or choose a tokenizer of",
        )

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"vocab_size": 3}, "vocab_size=3 and 1 characters: texts hold no words to learn from"),
            ({"vocab_size": 9}, "vocab_size=9 and 2 characters: texts hold no words to learn from"),
            ({"tokenizer": "no-such"}, "'no-such' is no tokenizer that we know and no folder"),
            ({"max_length": 4, "objective": "nsp"}, "max_length=4: it must be a whole number of at least 5, 3 special"),
            (
                {"max_length": 3, "objective": "none"},
                "max_length=3: it must be a whole number of at least 4, 2",
            ),
            ({"mask_share": 0.9, "random_share": 0.5}, "mask_share=0.9 and random_share=0.5 are more than 1 together"),
            ({"language": "fr"}, "language='fr': choose one of None, 'en', 'zh'"),
            ({"documents": "line"}, "documents='line': choose one of 'blank-line', 'file'"),
            ({"precision": "fp16"}, "precision='fp16' on a CPU"),
        ],
    )
    def test_settings_that_do_not_fit_the_text(
        self, changes: dict[str, Any], message: str, texts: Path, tmp_path: Path
    ) -> None:
        refused(settings(texts, tmp_path / "out", **changes), message)

    def test_next_sentences_of_a_single_document(self, tmp_path: Path) -> None:
        corpus = folder_of(tmp_path / "texts", 1, 40, files=1)
        refused(
            settings(corpus, tmp_path / "out", objective="nsp"), 'need two documents of a source.* use objective="sop"'
        )

    def test_whole_words_where_nothing_shows_them(self, tmp_path: Path) -> None:
        """Chinese: each character is a token of its own, and there are no pieces with ##."""
        (tmp_path / "texts").mkdir()
        sentences = ["天地玄黄宇宙洪荒。", "日月盈昃辰宿列张。", "寒来暑往秋收冬藏。", "闰余成岁律吕调阳。"]
        documents = ["\n".join(random.Random(n).sample(sentences, 4)) for n in range(24)]
        (tmp_path / "texts" / "a.txt").write_text("\n\n".join(documents), encoding="utf-8")
        given = settings(tmp_path / "texts", tmp_path / "out", language="zh", batch_size=2)
        refused({**given, "whole_words": True}, "whole_words=True, and no token .* begins with ##: .*leave")
        assert pretrain(given, show=False, say=lambda _: None).log

    @pytest.mark.parametrize("what", ["a file", "a folder"])
    def test_an_out_that_is_something_else(self, what: str, texts: Path, tmp_path: Path) -> None:
        out = tmp_path / "mine"
        if what == "a folder":
            out.mkdir()
        kept = out if what == "a file" else out / "thesis.txt"
        kept.write_text("my own", encoding="utf-8")
        refused(settings(texts, out), "mine exists, and is no run's folder: choose another with out=…")
        assert kept.read_text(encoding="utf-8") == "my own"

    def test_an_out_that_cannot_be_made(self, texts: Path, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("", encoding="utf-8")
        refused(settings(texts, tmp_path / "file" / "out"), "file.*cannot be made|Not a directory", OSError)


def vocabulary(*words: str) -> Tokenizer:
    return Tokenizer.from_vocab(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words])
