"""RoBERTa's and ALBERT's tokenizers, small ones trained here, give what those of `transformers` give."""

import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
import torch
import transformers
from tokenizers import AddedToken, models, normalizers, pre_tokenizers, trainers
from tokenizers import Tokenizer as Backend
from transformers import PreTrainedTokenizerFast

from bertbook import Bert, BertConfig, Tokenizer, load_pretrained, save_pretrained
from tests.pretrained_samples import same_weights
from tests.text.samples import AWKWARD

CORPUS = [
    *(text for text in AWKWARD.values() if len(text) < 100),
    "The animal didn't cross the street because it was too tired.",
    "Die Straße war naß.",
] * 3
PAIRS = {f"{a} + {b}": (AWKWARD[a], AWKWARD[b]) for a, b in pairwise([*AWKWARD, "empty", "empty"])}


def roberta() -> PreTrainedTokenizerFast:
    backend = Backend(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=["<s>", "<pad>", "</s>", "<unk>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    backend.train_from_iterator(CORPUS, trainer)
    model = json.loads(backend.to_str())["model"]
    merges = [tuple(pair) for pair in model["merges"]]
    mask = AddedToken("<mask>", lstrip=True, special=True)
    return transformers.RobertaTokenizerFast(vocab=model["vocab"], merges=merges, mask_token=mask)


def albert() -> PreTrainedTokenizerFast:
    backend = Backend(models.Unigram())
    backend.normalizer = normalizers.Sequence([normalizers.NFKD(), normalizers.StripAccents(), normalizers.Lowercase()])
    backend.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=300,
        special_tokens=["<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]"],
        unk_token="<unk>",
        show_progress=False,
    )
    backend.train_from_iterator(CORPUS, trainer)
    # Rounded: two readers of JSON may differ in the last bit of a long number, which decides between equal cuts.
    vocab = [(token, round(score, 3)) for token, score in json.loads(backend.to_str())["model"]["vocab"]]
    return transformers.AlbertTokenizerFast(vocab=vocab)


MAKERS: dict[str, Callable[[], PreTrainedTokenizerFast]] = {"roberta": roberta, "albert": albert}


@pytest.fixture(scope="module", params=MAKERS)
def both(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Tokenizer, PreTrainedTokenizerFast]:
    """Ours and theirs from the same files, written by theirs."""
    theirs = MAKERS[request.param]()
    folder = tmp_path_factory.mktemp(request.param)
    theirs.save_pretrained(folder)
    return Tokenizer.from_folder(folder), type(theirs).from_pretrained(folder)


def assert_same(ours: Tokenizer, theirs: PreTrainedTokenizerFast, text: str, pair: str | None, **cut: int) -> None:
    item = text if pair is None else (text, pair)
    given = ours([item], return_offsets=True, **cut)
    options = {"return_offsets_mapping": True, "return_token_type_ids": True}
    expected = theirs([item], truncation="longest_first" if cut else False, **options, **cut)
    for name in given:
        wanted = [list(x) if isinstance(x, tuple) else x for x in expected[name][0]]
        alike = given[name][0].tolist() == wanted  # on its own: of thousands of ids pytest shows no difference in time
        assert alike, name


@pytest.mark.parametrize("text", AWKWARD.values(), ids=AWKWARD)
def test_awkward_texts(both: tuple[Tokenizer, PreTrainedTokenizerFast], text: str) -> None:
    ours, theirs = both
    assert_same(ours, theirs, text, None)
    assert_same(ours, theirs, text, None, max_length=9)
    assert ours.tokenize(text) == theirs.tokenize(text)
    ids = theirs.encode(text)
    assert ours.decode(ids) == theirs.decode(ids, skip_special_tokens=True)


@pytest.mark.parametrize(("first", "second"), PAIRS.values(), ids=PAIRS)
def test_awkward_pairs(both: tuple[Tokenizer, PreTrainedTokenizerFast], first: str, second: str) -> None:
    assert_same(*both, first, second)
    # Of two long texts the reference keeps all pairs of what it cut off, however many.
    assert_same(*both, first, second, max_length=12 if len(first + second) < 5000 else 4000)


def test_special_tokens_by_their_role(both: tuple[Tokenizer, PreTrainedTokenizerFast]) -> None:
    ours, theirs = both
    for role in ("pad", "unk", "cls", "sep", "mask"):
        assert getattr(ours, f"{role}_token_id") == getattr(theirs, f"{role}_token_id")
    batch = ours(["The street.", ("The animal", "was tired.")])
    assert batch["input_ids"][0, -1] == ours.pad_token_id
    assert batch["attention_mask"][0, -1] == 0
    assert batch["input_ids"][:, 0].tolist() == [ours.cls_token_id] * 2
    is_roberta = ours.special_tokens[2] == "<s>"
    assert (batch["input_ids"][1] == ours.sep_token_id).sum() == (3 if is_roberta else 2)
    assert bool(batch["token_type_ids"].any()) is not is_roberta


def test_a_mask_inside_a_text(both: tuple[Tokenizer, PreTrainedTokenizerFast]) -> None:
    ours, theirs = both
    text = f"The {theirs.mask_token} was tired."
    assert ours.encode(text).count(ours.mask_token_id) == 1
    assert_same(ours, theirs, text, None)  # RoBERTa's takes the space before it along


def test_what_we_save_both_read(both: tuple[Tokenizer, PreTrainedTokenizerFast], tmp_path: Path) -> None:
    ours, _ = both
    torch.manual_seed(0)
    family = (
        {"position_offset": ours.pad_token_id + 1}
        if ours.special_tokens[2] == "<s>"
        else {"share_layers": True, "embedding_size": 6, "classifier_dropout": 0.0}
    )
    config = BertConfig(
        vocab_size=len(ours),
        hidden_size=12,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=8,
        pad_token_id=ours.pad_token_id,
        **family,
    )
    folder = save_pretrained(Bert(config).eval(), ours, tmp_path / "saved")
    assert not (folder / "vocab.txt").exists()
    model, again = load_pretrained(folder)
    theirs, their_model = (
        transformers.AutoTokenizer.from_pretrained(folder),
        transformers.AutoModel.from_pretrained(folder).eval(),
    )
    assert again.vocab == ours.vocab
    for text in AWKWARD.values():
        assert again.encode(text) == ours.encode(text)
        assert_same(again, theirs, text, "The second.")
    texts = [("The animal.", "It was tired."), ("Tired", "too")]
    batch, their_batch = again(texts), theirs(texts, padding=True, return_tensors="pt")
    real = batch["attention_mask"].bool()
    with torch.inference_mode():
        given, expected = model(**batch).last_hidden_state, their_model(**their_batch).last_hidden_state
    torch.testing.assert_close(given[real], expected[real], atol=1e-5, rtol=0)
    assert same_weights(model, load_pretrained(folder)[0])


@pytest.mark.parametrize("family", MAKERS)
def test_near_misses_are_refused(family: str, tmp_path: Path) -> None:
    MAKERS[family]().save_pretrained(tmp_path)
    path = tmp_path / "tokenizer.json"
    values = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**values, "post_processor": None}), encoding="utf-8")
    with pytest.raises(
        ValueError, match=r"its post_processor does not write (<s> A </s> and <s> A </s></s> B|\[CLS\] A)"
    ):
        Tokenizer.from_folder(tmp_path)
    if family == "roberta":
        path.write_text(json.dumps({**values, "normalizer": {"type": "Lowercase"}}), encoding="utf-8")
        with pytest.raises(ValueError, match="its normalizer is Lowercase, RoBERTa's is none"):
            Tokenizer.from_folder(tmp_path)
