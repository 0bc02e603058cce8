"""One gap or several, one text or many: the probabilities are the model's own, and nothing else is touched."""

from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

import bertbook
from bertbook import BertForMaskedLM, BertForPreTraining, Tokenizer, save_pretrained
from bertbook.tasks import FillMask
from bertbook.text.masking import drawable_ids
from tests.tasks import animals
from tests.text.test_relatives import MAKERS

TEXT = "The Cat eats [MASK]."


def by_hand(fill: FillMask, ids: list[int], segments: list[int] | None = None) -> torch.Tensor:
    """(number of masks, V): softmax of the logits at the masks, from one plain pass of the whole model."""
    given = torch.tensor([ids])
    with torch.no_grad():
        logits = fill.model(given, token_type_ids=None if segments is None else torch.tensor([segments])).logits
    return logits[given == fill.tokenizer.mask_token_id].softmax(-1)


def test_the_probabilities_are_those_of_the_whole_vocabulary(ignorant: FillMask) -> None:
    (expected,) = by_hand(ignorant, ignorant.tokenizer.encode(TEXT))
    offered = drawable_ids(ignorant.tokenizer)
    found = ignorant(TEXT, top_k=len(offered))
    assert sorted(candidate.token_id for candidate in found) == offered
    for candidate in found:
        assert candidate.probability == pytest.approx(expected[candidate.token_id].item(), rel=1e-5)
        assert ignorant.tokenizer.vocab[candidate.token] == candidate.token_id
        (step,) = candidate.steps
        assert (step.token, step.token_id, step.probability) == (
            candidate.token,
            candidate.token_id,
            candidate.probability,
        )
    probabilities = [candidate.probability for candidate in found]
    assert probabilities == sorted(probabilities, reverse=True)
    assert sum(probabilities) == pytest.approx(expected[offered].sum().item(), rel=1e-5)
    assert sum(probabilities) < 0.99  # special tokens and empty rows have the rest: nothing is renormalised


def test_special_tokens_are_never_offered() -> None:
    model = animals.untrained()
    tokenizer = animals.tokenizer()
    never = sorted({*range(len(animals.VOCAB) + 3)} - set(drawable_ids(tokenizer)))
    with torch.no_grad():
        model.mlm.bias[never] = 50.0  # the model wants nothing else
    fill = FillMask(model, tokenizer)
    found = fill(TEXT, top_k=len(drawable_ids(tokenizer)))
    assert not {candidate.token_id for candidate in found} & set(never)
    assert sum(candidate.probability for candidate in found) < 1e-6
    for combination in fill.together("[MASK] [MASK]"):
        assert not set(combination.token_ids) & set(never)
    for candidate in fill(TEXT, whole_words=True, max_pieces=2):
        assert not set(candidate.token_ids) & set(never)


def test_five_when_not_said_otherwise(ignorant: FillMask) -> None:
    assert [len(ignorant(TEXT)), len(ignorant(TEXT, 2)), len(ignorant.together(TEXT))] == [5, 2, 5]


def test_one_gap_several_gaps_several_texts(ignorant: FillMask) -> None:
    two = "The [MASK] eats [MASK]."
    expected = by_hand(ignorant, ignorant.tokenizer.encode(two))  # (2, V), each with the other hidden
    gaps = ignorant(two, top_k=3)
    for row, candidates in zip(expected, gaps, strict=True):
        for candidate in candidates:
            assert candidate.probability == pytest.approx(row[candidate.token_id].item(), rel=1e-5)
    assert gaps[0][0].text == f"The {gaps[0][0].token} eats [MASK]."
    assert gaps[1][0].text == f"The [MASK] eats {gaps[1][0].token}."

    texts = [TEXT, two, ("The cat.", "It eats [MASK]."), TEXT]
    together = ignorant(texts, top_k=3)
    assert isinstance(ignorant([TEXT], top_k=3)[0], list)  # a list of one text gives a list of one answer
    for text, found in zip(texts, together, strict=True):
        assert shape(found) == shape(ignorant(text, top_k=3))
        same = zip(flat(found), flat(ignorant(text, top_k=3)), strict=True)
        for one, alone in same:
            assert (one.token, one.text) == (alone.token, alone.text)
            assert one.probability == pytest.approx(alone.probability, rel=1e-4)


def flat(found: Any) -> list[Any]:
    return [candidate for gap in found for candidate in gap] if isinstance(found[0], list) else found


def shape(found: Any) -> Any:
    return [len(gap) for gap in found] if isinstance(found[0], list) else len(found)


def test_pairs(ignorant: FillMask) -> None:
    pair = ("The Dog [MASK] meat", "The CAT loves [MASK].")
    batch = ignorant.tokenizer(pair)
    expected = by_hand(ignorant, batch["input_ids"][0].tolist(), batch["token_type_ids"][0].tolist())
    for row, candidates in zip(expected, ignorant(pair), strict=True):
        for candidate in candidates:
            assert candidate.probability == pytest.approx(row[candidate.token_id].item(), rel=1e-5)
    first, second = ignorant(pair, top_k=1)
    assert first[0].text == (f"The Dog {first[0].token} meat", "The CAT loves [MASK].")
    assert second[0].text == ("The Dog [MASK] meat", f"The CAT loves {second[0].token}.")
    assert ignorant.together(pair, 1)[0].text[0].startswith("The Dog ")


def test_the_head_runs_at_the_gaps_alone_and_batches_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    model = animals.untrained().eval()
    fill = FillMask(model, animals.tokenizer(), batch_tokens=30)
    heads: list[int] = []
    batches: list[tuple[int, ...]] = []
    model.mlm.register_forward_pre_hook(lambda _, inputs: heads.append(len(inputs[0])))
    model.bert.register_forward_pre_hook(
        lambda _, args, kwargs: batches.append(tuple(kwargs["input_ids"].shape)), with_kwargs=True
    )
    texts = [TEXT, "the [MASK] eats [MASK]", "[MASK]"] * 3 + ["the cat " * 10 + "[MASK]"]
    found = fill(texts)
    assert sum(heads) == 3 * 4 + 1  # one row a gap
    assert sum(rows for rows, _ in batches) == len(texts)
    assert len(batches) > 2
    assert all(rows * length <= 30 or rows == 1 for rows, length in batches)
    assert [candidate.token for candidate in flat(found[4])] == [candidate.token for candidate in flat(fill(texts[4]))]


def test_the_model_stays_as_it_was() -> None:
    model = animals.untrained(hidden_dropout_prob=0.5).train()
    model.mlm.eval()
    before = {name: module.training for name, module in model.named_modules()}
    fill = FillMask(model, animals.tokenizer())
    one, again = fill(TEXT), fill(TEXT)
    assert one == again  # no dropout
    assert {name: module.training for name, module in model.named_modules()} == before
    assert all(parameter.grad is None and parameter.requires_grad for parameter in model.parameters())
    model(**animals.tokenizer()("the cat")).logits.sum().backward()  # nothing was left in inference mode
    assert torch.is_grad_enabled()
    assert not torch.is_inference_mode_enabled()


def test_the_model_for_both_objectives() -> None:
    both: BertForPreTraining = animals.untrained(BertForPreTraining).eval()
    alone: BertForMaskedLM = animals.untrained(seed=1).eval()
    alone.load_state_dict(both.state_dict(), strict=False)
    for one, other in zip(
        FillMask(both, animals.tokenizer())(TEXT), FillMask(alone, animals.tokenizer())(TEXT), strict=True
    ):
        assert (one.token, one.probability) == (other.token, pytest.approx(other.probability))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_from_a_folder(tmp_path: Path, dtype: torch.dtype, device: str) -> None:
    model = animals.untrained(BertForPreTraining).eval()
    folder = save_pretrained(model, animals.tokenizer(), tmp_path / "animals")
    fill = bertbook.tasks.FillMask.from_pretrained(folder, device=device, dtype=dtype)
    parameter = next(fill.model.parameters())
    assert (parameter.dtype, parameter.device.type) == (dtype, device)
    assert repr(fill).startswith("FillMask(animals, Tokenizer(")
    expected = {c.token_id: c.probability for c in FillMask(model, animals.tokenizer())(TEXT, top_k=20)}
    for candidate in fill(TEXT, top_k=3):
        assert candidate.probability == pytest.approx(
            expected[candidate.token_id], rel=1e-4 if dtype == torch.float32 else 0.2
        )


def test_the_pipeline_of_transformers_agrees(tmp_path: Path) -> None:
    model = animals.untrained(vocab_size=len(animals.VOCAB)).eval()
    folder = save_pretrained(model, animals.tokenizer(), tmp_path)
    theirs = transformers.pipeline("fill-mask", model=str(folder), tokenizer=str(folder), device="cpu")
    ours = FillMask.from_pretrained(folder)
    never = {i for i in range(len(animals.VOCAB)) if i not in drawable_ids(ours.tokenizer)}
    for text in ("the cat eats [MASK].", "the [MASK] eats the [MASK]."):
        given, expected = ours(text, top_k=10), theirs(text, top_k=len(animals.VOCAB))
        if text.count("[MASK]") == 1:
            given, expected = [given], [expected]
        for candidates, answers in zip(given, expected, strict=True):
            answers = [answer for answer in answers if answer["token"] not in never][:10]
            assert [candidate.token_id for candidate in candidates] == [answer["token"] for answer in answers]
            for candidate, answer in zip(candidates, answers, strict=True):
                assert candidate.probability == pytest.approx(answer["score"], abs=1e-5)


@pytest.fixture(scope="module", params=MAKERS)
def relative(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[FillMask, Any]:
    """RoBERTa and ALBERT, tiny, and the pipeline of `transformers` over the same folder."""
    folder = tmp_path_factory.mktemp(request.param)
    MAKERS[request.param]().save_pretrained(folder / "tokenizer")
    tokenizer = Tokenizer.from_folder(folder / "tokenizer")
    family: dict[str, Any] = (
        {"position_offset": tokenizer.pad_token_id + 1, "type_vocab_size": 1}
        if request.param == "roberta"
        else {"share_layers": True, "embedding_size": 16}
    )
    sizes = {"vocab_size": len(tokenizer), "pad_token_id": tokenizer.pad_token_id, "max_position_embeddings": 40}
    model = animals.untrained(**sizes, **family).eval()
    saved = save_pretrained(model, tokenizer, folder / "saved")
    theirs = transformers.pipeline("fill-mask", model=str(saved), tokenizer=str(saved), device="cpu")
    return FillMask(model, tokenizer), theirs


def test_roberta_and_albert(relative: tuple[FillMask, Any]) -> None:
    ours, theirs = relative
    own = ours.tokenizer.special_tokens[-1]
    text = "The animal [MASK] tired."
    expected = theirs(text.replace("[MASK]", own), top_k=5)
    found = ours(text, top_k=5)
    assert found == ours(text.replace("[MASK]", own), top_k=5)  # both spellings
    assert [candidate.token_id for candidate in found] == [answer["token"] for answer in expected]
    for candidate, answer in zip(found, expected, strict=True):
        assert candidate.probability == pytest.approx(answer["score"], abs=1e-5)


def test_roberta_and_albert_bring_their_own_spaces(relative: tuple[FillMask, Any]) -> None:
    ours, _ = relative
    space = "Ġ" if ours.tokenizer.special_tokens[-1] == "<mask>" else "▁"
    found = ours("The animal [MASK] tired.", top_k=200)
    words = [candidate for candidate in found if candidate.token.removeprefix(space).isascii()]
    begins = next(candidate for candidate in words if candidate.token[:1] == space and candidate.token[1:].isalpha())
    assert begins.text == f"The animal {begins.token[1:]} tired."
    assert begins.token_id in ours.tokenizer.encode(begins.text)
    if space == "Ġ":  # <mask> takes the space before it along
        goes_on = next(candidate for candidate in words if candidate.token.isalpha())
        assert goes_on.text == f"The animal{goes_on.token} tired."
    for candidate in ours("The animal [MASK] tired.", candidates=["was", "street"]):
        assert candidate.text == f"The animal {candidate.token} tired."
        ids = ours.tokenizer.encode(candidate.text)
        spans = [tuple(ids[at : at + len(candidate.steps)]) for at in range(len(ids))]
        assert candidate.token_ids in spans  # spelled as it is in running text, with the space before it
