"""What a batch costs, laid out in three ways: padded, in groups of like length, packed. Exact, in whole numbers."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, get_args

Layout = Literal["padded", "bucketed", "packed"]
LAYOUTS: tuple[Layout, ...] = get_args(Layout)


@dataclass(frozen=True)
class LayoutCost:
    """What the layers of an encoder compute for a batch, forward, in their matrix products.

    Args:
        tokens: the positions computed, padding among them.
        linear: floating-point operations of the four projections and the feed-forward network; grow with the tokens.
        attention: those of scores and mixing; grow with the square of each row's computed length.
    """

    tokens: int
    linear: int
    attention: int

    @property
    def flops(self) -> int:
        """All operations together."""
        return self.linear + self.attention


def bucketed(lengths: Sequence[int], groups: int) -> list[list[int]]:
    """The rows' numbers in groups: sorted by length, then cut into runs whose sizes differ by at most one row.

    Rows of one length stay in their order; the first groups are the larger ones, as in ``numpy.array_split``.
    """
    order = sorted(range(len(lengths)), key=lambda row: lengths[row])
    size, larger = divmod(len(order), groups)
    starts = [group * size + min(group, larger) for group in range(groups + 1)]
    return [order[start:end] for start, end in pairwise(starts)]


def layout_costs(
    lengths: Sequence[int], groups: int, *, hidden_size: int, intermediate_size: int, num_layers: int
) -> dict[Layout, LayoutCost]:
    """The cost of a batch in each layout.

    A row that is computed at length w takes in each of the L layers, with H the hidden and F the intermediate size::

        linear layers   w · (8 H² + 4 H F)    four projections, 2 H² each; feed-forward, 2 H F there and back
        attention       4 w² H                scores and mixing, 2 w² H each, over all heads

    A multiplication and an addition are two operations. Embeddings, biases, softmax, LayerNorm and heads are left out.
    Padded, w is the longest row's length for all rows; bucketed, the longest of the row's group; packed, its own.
    """
    widths: dict[Layout, list[int]] = {
        "padded": [max(lengths)] * len(lengths),
        "bucketed": [
            max(lengths[row] for row in group) for group in bucketed(lengths, groups) for _ in range(len(group))
        ],
        "packed": list(lengths),
    }
    per_token = num_layers * (8 * hidden_size**2 + 4 * hidden_size * intermediate_size)
    per_square = num_layers * 4 * hidden_size
    return {
        layout: LayoutCost(sum(row), per_token * sum(row), per_square * sum(width**2 for width in row))
        for layout, row in widths.items()
    }
