"""Questions to a masked language model: which token stands at this place? Many at once, in bounded batches."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from bertbook.model.evaluating import evaluating
from bertbook.model.heads import BertForMaskedLM, BertForPreTraining, full
from bertbook.text.batches import pad_batch
from bertbook.text.tokenizer import Tokenizer

Guess = tuple[int, float]  # an id, and ln p
PLACES = 512  # asked about in one batch: their logits are 512 · V numbers, 60 MB for bert-base


@dataclass(frozen=True)
class Question:
    """A sequence as the model reads it, and the places in it that are asked about."""

    ids: list[int]
    segments: list[int]
    places: list[int]

    def filled(self, place: int, token_id: int) -> "Question":
        """With this token at that place, which is asked about no more."""
        ids = [*self.ids[:place], token_id, *self.ids[place + 1 :]]
        return Question(ids, self.segments, [other for other in self.places if other != place])


class MaskedModel:
    """A model and its tokenizer, which answer questions.

    Args:
        batch_tokens: sequences are run together as long as they have no more tokens than this, padding included. A
            longer sequence is run alone.
    """

    def __init__(self, model: BertForMaskedLM | BertForPreTraining, tokenizer: Tokenizer, batch_tokens: int) -> None:
        self.model, self.tokenizer, self.batch_tokens = model, tokenizer, batch_tokens

    def check_length(self, length: int, text: object, note: str = "") -> None:
        """Nothing is cut here.

        Raises:
            ValueError: more tokens than the model has positions.
        """
        most = self.model.config.max_length
        if most is not None and length > most:
            raise ValueError(
                f"{text!r:.80} is {length} tokens{note}; this model has {most} positions. Nothing is cut, as that "
                "could be what you ask about: shorten the text"
            )

    def best(
        self, questions: Sequence[Question], allowed: Sequence[Sequence[Bool[Tensor, " V"]]], count: int
    ) -> list[list[list[Guess]]]:
        """For each place of each question the ``count`` most probable of its allowed tokens, or all there are.

        Args:
            allowed: for each place of each question.
        """
        answers: list[list[list[Guess]]] = [[[] for _ in question.places] for question in questions]

        def read(keys: list[tuple[int, int]], log_p: Float[Tensor, "N V"]) -> None:
            sets = [allowed[question][place] for question, place in keys]
            few = {id(may): may for may in sets}  # mostly one and the same
            row = {key: number for number, key in enumerate(few)}
            may = torch.stack(list(few.values())).to(log_p.device)[[row[id(may)] for may in sets]]  # (N, V)
            top = log_p.masked_fill(~may, -torch.inf).topk(min(count, log_p.shape[1]))
            for (question, place), values, ids in zip(keys, top.values.tolist(), top.indices.tolist(), strict=True):
                answers[question][place] = [(i, p) for i, p in zip(ids, values, strict=True) if p > -torch.inf]

        self._ask(questions, read)
        return answers

    def log_probabilities(self, questions: Sequence[Question], tokens: Sequence[Sequence[int]]) -> list[list[float]]:
        """ln p of each of a question's ``tokens`` at its only place."""
        answers: list[list[float]] = [[] for _ in questions]

        def read(keys: list[tuple[int, int]], log_p: Float[Tensor, "N V"]) -> None:
            asked = [tokens[question] for question, _ in keys]
            rows = torch.repeat_interleave(torch.arange(len(asked)), torch.tensor([len(row) for row in asked]))
            columns = torch.tensor(list(chain.from_iterable(asked)))
            values = iter(log_p[rows.to(log_p.device), columns.to(log_p.device)].tolist())
            for (question, _), row in zip(keys, asked, strict=True):
                answers[question] = [next(values) for _ in row]

        self._ask(questions, read)
        return answers

    def _ask(
        self, questions: Sequence[Question], read: Callable[[list[tuple[int, int]], Float[Tensor, "N V"]], None]
    ) -> None:
        """Hand ln p of the whole vocabulary to ``read``, batch by batch, with (question, which of its places)."""
        table = self.model.bert.embeddings.token.weight  # (V, E)
        with evaluating(self.model), torch.inference_mode():
            for numbers in self._batches(questions):
                asked = [questions[number] for number in numbers]
                examples = [{"input_ids": question.ids, "token_type_ids": question.segments} for question in asked]
                batch = pad_batch(examples, self.tokenizer.pad_token_id).to(table.device)
                rows = [row for row, question in enumerate(asked) for _ in question.places]
                columns = [place for question in asked for place in question.places]
                hidden = self.model.bert(**batch).last_hidden_state[rows, columns]  # (N, H)
                log_p = full(self.model.mlm(hidden, table)).log_softmax(-1)  # (N, V)
                if bool(log_p[:, 0].isnan().any()):  # one NaN among the logits makes them all NaN
                    raise ValueError(
                        "the model computes NaN: its weights are damaged, or too large for their type; load it with "
                        "dtype=torch.float32"
                    )
                read([(n, which) for n in numbers for which in range(len(questions[n].places))], log_p)

    def _batches(self, questions: Sequence[Question]) -> Iterator[list[int]]:
        """Questions of like length together: as many as the bounds allow, at least one."""
        batch: list[int] = []
        places = 0
        for number in sorted(range(len(questions)), key=lambda number: len(questions[number].ids)):
            longest, more = len(questions[number].ids), len(questions[number].places)
            if batch and ((len(batch) + 1) * longest > self.batch_tokens or places + more > PLACES):
                yield batch
                batch, places = [], 0
            batch.append(number)
            places += more
        if batch:
            yield batch
