"""Rows without their padding, end to end: N tokens in one row, in place of B rows of S.

Linear layers, LayerNorm and activations look at one token at a time, so they do not mind. Only attention must know
where a text ends. :class:`~bertbook.model.bert.Bert` packs before the first layer and unpacks after the last::

    packing = Packing(attention_mask)  # (B, S)
    hidden = packing.pack(hidden)  # (B, S, H) to (1, N, H)
    hidden, _ = layer(hidden, packing.attend)  # as if each text stood alone
    hidden = packing.unpack(hidden)  # (B, S, H), zeros at padding
"""

from typing import cast

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int, Shaped
from torch import Tensor

from bertbook.model.rows import attend_rows

try:
    from torch.nn.attention.varlen import varlen_attn
except ImportError:  # before torch 2.10
    varlen_attn = None  # type: ignore[assignment]


class Packing:
    """Where the tokens of a batch go. Shorter rows come first, and rows of equal length stand together.

    Args:
        attention_mask: (B, S), 1 for tokens, 0 for padding, which may stand anywhere; at least one token.

    ``positions`` (1, N): the place in its row where each token stood. ``lengths`` (R,), on the CPU: how many tokens
    each row has, in the new order; rows of padding alone are left out. ``cu_seqlens`` (R + 1,): the same lengths
    summed up, from 0 to N, as the kernels of GPUs want them.
    """

    def __init__(self, attention_mask: Int[Tensor, "B S"]) -> None:
        device, mask = attention_mask.device, attention_mask.cpu()  # one wait for the device, not one a line
        self.shape = mask.shape
        lengths, order = mask.sum(dim=1).sort(stable=True)  # (B,)
        row, column = mask[order].nonzero(as_tuple=True)  # (N,), row after row
        self._places = (order[row] * self.shape[1] + column).to(device)  # in the batch, laid out as one row of B · S
        self.positions = column[None].to(device)
        self.lengths = lengths[lengths > 0]
        self.cu_seqlens = F.pad(self.lengths.cumsum(0), (1, 0)).int().to(device)
        self.longest = int(self.lengths[-1])

    def pack(self, x: Shaped[Tensor, "B S *d"]) -> Shaped[Tensor, "1 N *d"]:
        """What stands at tokens, row after row."""
        return x.flatten(0, 1)[self._places][None]

    def unpack(self, x: Shaped[Tensor, "1 N *d"]) -> Shaped[Tensor, "B S *d"]:
        """Back to where it stood, with zeros at padding."""
        batch = x.new_zeros(self.shape.numel(), *x.shape[2:])
        return batch.index_copy(0, self._places, x[0]).unflatten(0, self.shape)

    def attend(
        self,
        query: Float[Tensor, "1 h N d"],
        key: Float[Tensor, "1 h N d"],
        value: Float[Tensor, "1 h N d"],
        dropout: float = 0.0,
    ) -> Float[Tensor, "1 h N d"]:
        """softmax(Q Kᵀ / √d) V within each row, in the way that suits the device.

        CPU: row by row, with the formula itself (rows.py). CUDA, in half precision and without dropout: the kernel of
        FlashAttention for rows of any lengths (Dao 2023). Elsewhere: padded again for this one step.
        """
        q, k, v = (x[0].transpose(0, 1) for x in (query, key, value))  # (N, h, d)
        if q.device.type == "cpu":
            mixed = attend_rows(q, k, v, self.lengths, dropout)
        elif _takes_varlen(q) and not dropout:
            mixed = cast(Tensor, varlen_attn(q, k, v, self.cu_seqlens, self.cu_seqlens, self.longest, self.longest))
        else:
            mixed = self.attend_padded(q, k, v, dropout)
        return mixed.transpose(0, 1)[None]

    def attend_padded(
        self, query: Float[Tensor, "N h d"], key: Float[Tensor, "N h d"], value: Float[Tensor, "N h d"], dropout: float
    ) -> Float[Tensor, "N h d"]:
        """Padding comes back for attention alone; the rest of the layer is still spared it."""
        sizes = self.cu_seqlens.diff()  # (R,)
        mask = torch.arange(self.longest, device=query.device) < sizes[:, None]  # (R, longest)
        # Where each token stands among R · longest; torch.nonzero would wait for the device.
        starts = torch.arange(len(sizes), device=query.device) * self.longest - self.cu_seqlens[:-1]  # (R,)
        place = torch.arange(len(query), device=query.device) + starts.repeat_interleave(sizes, output_size=len(query))

        def padded(x: Float[Tensor, "N h d"]) -> Float[Tensor, "R h T d"]:
            return (
                x.new_zeros(mask.numel(), *x.shape[1:]).index_copy(0, place, x).unflatten(0, mask.shape).transpose(1, 2)
            )

        mixed = F.scaled_dot_product_attention(padded(query), padded(key), padded(value), mask[:, None, None], dropout)
        return mixed.transpose(1, 2).flatten(0, 1)[place]


def _takes_varlen(x: Tensor) -> bool:
    """Whether FlashAttention takes ``x``: half precision, on a CUDA device of the Ampere generation or later."""
    return (
        varlen_attn is not None
        and x.is_cuda
        and x.dtype in (torch.float16, torch.bfloat16)
        and torch.cuda.get_device_capability(x.device) >= (8, 0)
    )
