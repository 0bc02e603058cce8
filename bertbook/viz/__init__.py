"""Records as pictures that react. NumPy only: no torch is needed to look."""

from bertbook.viz.explorer import AttentionExplorer as AttentionExplorer

__all__ = ["AttentionExplorer"]
