"""Who goes where: fixed rules, with no seed and no list, so that everybody has the same splits."""

import hashlib

import numpy as np
from numpy.typing import NDArray

BLOCKS = 100
_HELD_OUT = {6: "held-out", 12: "dev", 18: "test"}  # the number of a block, modulo 20


def block_splits(documents: int) -> list[str]:
    """The split of each of a corpus's documents, in their order: ``"train"``, ``"held-out"``, ``"dev"``, ``"test"``.

    The documents are cut into 100 blocks, as even as can be, of documents that follow each other. Of every 20
    blocks number 6 is held out, 12 and 18 are the dev and test texts of the tasks on the same corpus, and 17 are
    for training. In blocks, because neighbours tell of the same events: shuffled, each held-out text would have
    a twin in training. (A corpus of fewer than 100 documents has 80, 60, 40 or 20 blocks; of fewer than 20, all
    are for training.)
    """
    blocks = min(BLOCKS, documents // 20 * 20)
    if not blocks:
        return ["train"] * documents
    return [_HELD_OUT.get(index * blocks // documents % 20, "train") for index in range(documents)]


def held_out_blocks(documents: int) -> NDArray[np.bool_]:
    """True for each document that :func:`block_splits` holds out, at a byte each."""
    held_out = np.zeros(documents, dtype=np.bool_)
    blocks = min(BLOCKS, documents // 20 * 20)
    for block in range(blocks):
        if _HELD_OUT.get(block % 20) == "held-out":
            held_out[-(-block * documents // blocks) : -(-(block + 1) * documents // blocks)] = True
    return held_out


def hash_split(key: str) -> str:
    """``"train"`` (8 of 10), ``"dev"`` or ``"test"`` by the SHA-256 of the key: the same on every machine.

    Examples that share a text take that text as their key, and so stay together.
    """
    number = int.from_bytes(hashlib.sha256(key.encode()).digest()[:8], "big") % 10
    return {8: "dev", 9: "test"}.get(number, "train")
