"""What comes back: the gap filled, how probable that is, and how the probability came about."""

from dataclasses import dataclass

from bertbook.text.tokenizer import Text


@dataclass(frozen=True)
class Step:
    """One [MASK] that was filled in: ``probability`` is that of the token, given the text and all steps before."""

    token: str
    token_id: int
    probability: float


@dataclass(frozen=True)
class Candidate:
    """What may stand in one gap.

    - ``token``: the entry of the vocabulary, as ``##ing``; of several pieces the word that they make, and of your own
      candidates what you wrote;
    - ``probability``: of one piece, the model's. Of k pieces, the product of those of its ``steps``: the probability
      of these pieces among all sequences of k, given that the gap holds k;
    - ``text``: your text with the gap filled; all else stays as you wrote it, other gaps too. A pair, if you gave one;
    - ``steps``: the pieces, from left to right, which is the order in which they were filled in;
    - ``text_score``: where words of different lengths are compared, how much the model expects the filled text:
      ln ``probability``, plus ln p of every other token given all the rest, as :meth:`FillMask.score` counts it.
    """

    token: str
    probability: float
    text: Text
    steps: tuple[Step, ...]
    text_score: float | None = None

    @property
    def token_id(self) -> int:
        """The id of the token.

        Raises:
            ValueError: it has several: see ``token_ids``.
        """
        if len(self.steps) > 1:
            raise ValueError(f"{self.token!r} is {len(self.steps)} tokens: their ids are its token_ids")
        return self.steps[0].token_id

    @property
    def token_ids(self) -> tuple[int, ...]:
        """The ids of its pieces."""
        return tuple(step.token_id for step in self.steps)

    def __repr__(self) -> str:
        score = "" if self.text_score is None else f", text_score={self.text_score:.2f}"
        return f"Candidate({self.token!r}, probability={self.probability:.4g}, text={self.text!r}{score})"


@dataclass(frozen=True)
class Combination:
    """One token for each gap of a text.

    - ``tokens``, ``token_ids``: from left to right;
    - ``probability``: the product of those of the ``steps``;
    - ``text``: your text, every gap filled. A pair, if you gave one;
    - ``steps``: in the order in which the gaps were filled, which is ``order``: numbers of gaps, counted from 0.
    """

    tokens: tuple[str, ...]
    token_ids: tuple[int, ...]
    probability: float
    text: Text
    steps: tuple[Step, ...]
    order: tuple[int, ...]

    def __repr__(self) -> str:
        return f"Combination({', '.join(self.tokens)}; probability={self.probability:.4g}, text={self.text!r})"
