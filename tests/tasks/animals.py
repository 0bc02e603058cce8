"""A world small enough to be learnt in seconds: who eats what, in words of one piece and of two."""

from typing import Any

import torch

from bertbook import BertConfig, BertForMaskedLM, BertForPreTraining, Tokenizer

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "[unused1]"]
DIET = {
    "cat": "fish",
    "dog": "meat",
    "cow": "grass",
    "mouse": "cheese",
    "bear": "strawberry",  # straw ##berry
    "bird": "blueberry",  # blue ##berry
}
WORDS = ["the", "eats", "loves", ".", ",", "straw", "blue", "##berry", "##s", "银", "行"]
VOCAB = [*SPECIAL, *DIET, "fish", "meat", "grass", "cheese", *WORDS]
SENTENCES = [f"The {animal} {verb} {food}." for animal, food in DIET.items() for verb in ("eats", "loves")]


def tokenizer() -> Tokenizer:
    return Tokenizer.from_vocab(VOCAB)


def untrained(
    kind: type[BertForMaskedLM] | type[BertForPreTraining] = BertForMaskedLM, seed: int = 0, **changes: Any
) -> Any:
    """Random weights, large enough that its probabilities are not all alike."""
    sizes: dict[str, Any] = {
        "vocab_size": len(VOCAB) + 3,  # rows that no token has, as padded tables have them
        "hidden_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 64,
        "max_position_embeddings": 24,
        "hidden_dropout_prob": 0.0,
        "attention_probs_dropout_prob": 0.0,
        "initializer_range": 0.2,
    }
    torch.manual_seed(seed)
    return kind(BertConfig(**{**sizes, **changes}))


def trained(seed: int = 0, most: int = 600) -> BertForMaskedLM:
    """It reads the sentences, each time with other tokens hidden, until it knows each animal by its food and back."""
    words = tokenizer()
    model: BertForMaskedLM = untrained(seed=seed, hidden_size=64, initializer_range=0.1)
    batch = words(SENTENCES)
    ids = batch["input_ids"]
    may = ~torch.isin(ids, torch.tensor(sorted(words.special_ids)))
    place = torch.arange(ids.shape[1])
    exams = [may & (place == 2), may & (place > 3) & (ids != words.vocab["."])]  # all animals; all foods
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    generator = torch.Generator().manual_seed(seed)
    for step in range(most):
        if step % 25 == 0 and max(_loss(model, batch, hidden).item() for hidden in exams) < 0.05:
            return model.eval()
        _loss(model, batch, may & (torch.rand(ids.shape, generator=generator) < 0.3)).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
    raise AssertionError("it does not learn its sentences")


def _loss(model: BertForMaskedLM, batch: dict[str, torch.Tensor], hidden: torch.Tensor) -> torch.Tensor:
    ids = batch["input_ids"]
    corrupted = ids.masked_fill(hidden, VOCAB.index("[MASK]"))
    return model(**{**batch, "input_ids": corrupted}, labels=ids.masked_fill(~hidden, -100)).loss
