"""Records as pictures that react, and figures that follow the page. No torch is needed to look."""

from typing import TYPE_CHECKING, Any

from bertbook.viz.embedding_sum import EmbeddingSum as EmbeddingSum
from bertbook.viz.explorer import AttentionExplorer as AttentionExplorer
from bertbook.viz.masking_lab import MaskingLab as MaskingLab
from bertbook.viz.packing import PackingExplorer as PackingExplorer
from bertbook.viz.pairs import PairBuilder as PairBuilder
from bertbook.viz.steps import AttentionSteps as AttentionSteps

if TYPE_CHECKING:
    from bertbook.viz.figures import SHADES as SHADES
    from bertbook.viz.figures import figure as figure

__all__ = [
    "SHADES",
    "AttentionExplorer",
    "AttentionSteps",
    "EmbeddingSum",
    "MaskingLab",
    "PackingExplorer",
    "PairBuilder",
    "figure",
]


def __getattr__(name: str) -> Any:
    # Matplotlib loads when a figure is drawn, not before: the widgets do without it.
    if name in ("SHADES", "figure"):
        from bertbook.viz import figures

        return getattr(figures, name)
    raise AttributeError(f"module 'bertbook.viz' has no attribute {name!r}; it has {', '.join(__all__)}")
