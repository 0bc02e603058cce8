"""What is refused, and in which words: one error, before the model runs."""

import re
from pathlib import Path
from typing import Any

import pytest
import torch
from tokenizers import AddedToken

from bertbook import Bert, BertForSequenceClassification, Tokenizer, save_pretrained
from bertbook.tasks import FillMask
from tests.tasks import animals
from tests.text.test_relatives import roberta

LONG = "the cat " * 11 + "[MASK]"  # 23 tokens, [CLS] and [SEP] besides


@pytest.mark.parametrize("call", ["__call__", "together"])
@pytest.mark.parametrize(
    ("texts", "kind", "said"),
    [
        ("the cat", ValueError, "no gap in 'the cat': write [MASK], in capitals, where a word is missing"),
        ("the [mask]", ValueError, "no gap in 'the [mask]'"),
        ("", ValueError, "no gap in ''"),
        (["the [MASK]", "the cat"], ValueError, "no gap in 'the cat'"),
        (("the", "cat"), ValueError, "no gap in ('the', 'cat')"),
        ([], ValueError, "texts is an empty list"),
        (LONG, ValueError, "is 25 tokens; this model has 24 positions. Nothing is cut"),
        (3, TypeError, "texts is int: expected a str, a pair (str, str), or a list"),
        (None, TypeError, "texts is NoneType"),
        (["[MASK]", 3], TypeError, "texts[1] is int: expected str"),
        (("[MASK]", "b", "c"), TypeError, "texts[0] is a tuple of 3: a pair has two texts"),
        (b"[MASK]", TypeError, "texts is bytes"),
        ("[MASK] \ud800", ValueError, "is not valid Unicode"),
    ],
)
def test_texts(ignorant: FillMask, call: str, texts: Any, kind: type[Exception], said: str) -> None:
    with pytest.raises(kind, match=re.escape(said)):
        getattr(ignorant, call)(texts)


@pytest.mark.parametrize(
    ("texts", "kind", "said"),
    [
        ("the [MASK]", ValueError, "there is a gap in 'the [MASK]': score takes whole texts; fill it first"),
        ("", ValueError, "there is nothing to score in ''"),
        ("☃ [SEP]", ValueError, "it holds no token but special ones"),
        (["the cat", " "], ValueError, "there is nothing to score in ' '"),
        ([], ValueError, "texts is an empty list"),
        ("the cat " * 12, ValueError, "is 26 tokens; this model has 24 positions"),
        (7, TypeError, "texts is int"),
    ],
)
def test_texts_to_score(ignorant: FillMask, texts: Any, kind: type[Exception], said: str) -> None:
    with pytest.raises(kind, match=re.escape(said)):
        ignorant.score(texts)


TOKENS = len(animals.VOCAB) - len(animals.SPECIAL)
PIECES = sum(token.startswith("##") for token in animals.VOCAB)


@pytest.mark.parametrize(
    ("options", "kind", "said"),
    [
        ({"top_k": 0}, ValueError, "top_k=0: expected a whole number from 1"),
        ({"top_k": TOKENS + 1}, ValueError, f"choose from 1 to {TOKENS}; the vocabulary has no more to offer"),
        ({"top_k": 2.5}, TypeError, "top_k=2.5: expected a whole number"),
        ({"top_k": TOKENS, "whole_words": True}, ValueError, f"choose from 1 to {TOKENS - PIECES}"),
        ({"max_pieces": 0}, ValueError, "max_pieces=0"),
        ({"max_pieces": 2}, ValueError, "max_pieces=2: words of several pieces are looked for with whole_words=True"),
        ({"whole_words": True, "max_pieces": 22}, ValueError, "is 25 tokens with 22 masks in the gap; try a smaller"),
        ({"candidates": []}, ValueError, "candidates is an empty list"),
        ({"candidates": "fish"}, TypeError, "candidates is str: expected a list of words"),
        ({"candidates": 5}, TypeError, "candidates is int"),
        ({"candidates": ["fish", 5]}, TypeError, "candidates[1] is int: expected str"),
        ({"candidates": ["fish", " "]}, ValueError, "the candidate ' ' is no token"),
        ({"candidates": ["fish", "猫"]}, ValueError, "the candidate '猫' holds [UNK], which is never offered"),
        ({"candidates": ["[SEP]"]}, ValueError, "the candidate '[SEP]' holds [SEP]"),
        ({"candidates": ["fish [MASK]"]}, ValueError, "holds [MASK]"),
        ({"candidates": ["fish"], "top_k": 2}, ValueError, "choose from 1 to 1; there are no more candidates"),
        ({"candidates": ["fish"], "whole_words": True}, ValueError, "yours are compared as they are; leave one out"),
        ({"candidates": ["the cat " * 12]}, ValueError, "27 tokens with the 24 pieces of a candidate in the gap"),
    ],
)
def test_options(ignorant: FillMask, options: dict[str, Any], kind: type[Exception], said: str) -> None:
    with pytest.raises(kind, match=re.escape(said)):
        ignorant("the [MASK]", **options)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"order": "right to left"}, "order='right to left': choose one of 'left to right', 'surest first'"),
        ({"beams": 0}, "beams=0: expected a whole number from 1"),
        ({"top_k": 0}, "top_k=0"),
        ({"top_k": TOKENS + 1}, f"choose from 1 to {TOKENS}"),
    ],
)
def test_options_of_together(ignorant: FillMask, options: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        ignorant.together("the [MASK]", **options)


def test_a_model_without_the_head() -> None:
    config = animals.untrained().config
    for model in (Bert(config), BertForSequenceClassification(config)):
        with pytest.raises(TypeError, match=rf"model is {type(model).__name__}: masked words need BertForMaskedLM or"):
            FillMask(model, animals.tokenizer())  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"model is str: .* For a name, call FillMask\.from_pretrained"):
        FillMask("minilm", animals.tokenizer())  # type: ignore[arg-type]


def test_tokenizers() -> None:
    model = animals.untrained()
    with pytest.raises(TypeError, match="tokenizer is NoneType: expected the Tokenizer that the model goes with"):
        FillMask(model, None)  # type: ignore[arg-type]
    large = Tokenizer.from_vocab([*animals.VOCAB, *"abcd"])
    with pytest.raises(ValueError, match=f"has {len(large)} tokens, the model's table {len(large) - 1} rows"):
        FillMask(model, large)
    with pytest.raises(ValueError, match="the vocabulary holds special tokens alone"):
        FillMask(model, Tokenizer.from_vocab(animals.SPECIAL))
    with pytest.raises(ValueError, match="batch_tokens=0"):
        FillMask(model, animals.tokenizer(), batch_tokens=0)


def test_masks_that_the_tokenizer_does_not_see() -> None:
    tokenizer = animals.tokenizer()
    tokenizer.backend.add_special_tokens([AddedToken("[MASK]", single_word=True, special=True)])
    fill = FillMask(animals.untrained().eval(), tokenizer)
    assert fill("the [MASK]")
    with pytest.raises(
        ValueError, match=r"gaps in the text: 1; masks that this tokenizer reads in it: 0: 'un\[MASK\]able'\. Set"
    ):
        fill("un[MASK]able")


def test_entire_words_of_roberta(tmp_path: Path) -> None:
    roberta().save_pretrained(tmp_path)
    tokenizer = Tokenizer.from_folder(tmp_path)
    fill = FillMask(animals.untrained(vocab_size=len(tokenizer), pad_token_id=tokenizer.pad_token_id), tokenizer)
    with pytest.raises(ValueError, match="only BERT's ## marks the pieces of a word"):
        fill("The <mask>", whole_words=True)
    with pytest.raises(ValueError, match=r"no gap in 'The': write \[MASK\] or <mask>, in capitals"):
        fill("The")


def test_minilm_has_no_head_for_masked_words(recwarn: pytest.WarningsRecorder) -> None:
    with pytest.raises(ValueError, match=r"'minilm' has no trained head for masked words.* pretraining wrote"):
        FillMask.from_pretrained("minilm")
    assert not [warning for warning in recwarn if "untrained" in str(warning.message)]  # one error, and no warning


def test_folders(tmp_path: Path) -> None:
    folder = save_pretrained(Bert(animals.untrained().config), animals.tokenizer(), tmp_path / "encoder")
    with pytest.raises(ValueError, match=r"encoder' has no trained head for masked words"):
        FillMask.from_pretrained(folder)
    with pytest.raises(ValueError, match="'minilmm' is no checkpoint that we know and no folder"):
        FillMask.from_pretrained("minilmm")
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        FillMask.from_pretrained(tmp_path / "nowhere")
    with pytest.raises(TypeError, match="name is BertForMaskedLM: expected a folder or a hub id; for a model"):
        FillMask.from_pretrained(animals.untrained())
    with pytest.raises(ValueError, match="device='tpu9'"):
        FillMask.from_pretrained(folder, device="tpu9")


def test_a_model_that_computes_nan() -> None:
    model = animals.untrained()
    with torch.no_grad():
        model.mlm.dense.weight[0, 0] = torch.nan
    with pytest.raises(ValueError, match="the model computes NaN"):
        FillMask(model, animals.tokenizer())("the [MASK]")
