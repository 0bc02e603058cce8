"""``torch.compile`` for the part of a BERT where it can work undisturbed: each encoder layer."""

from typing import Any

from torch import nn

from bertbook.model.hooks import encoder_of


def compile_layers(model: nn.Module, **options: Any) -> None:
    """Compile each encoder layer in place; on the first batch, which takes a minute on a CPU.

    What looks at the numbers in a batch stays outside: checking inputs, taking out padding, choosing masked tokens.
    So a layer is one graph without a break. It is compiled for any number of tokens: batches of other lengths do not
    compile it again, though a batch without padding, which comes in another shape, does so once.

    Args:
        model: a :class:`~bertbook.model.bert.Bert`, or one with a head.
        options: as :func:`torch.compile` takes them, ``backend="aot_eager"`` for instance.

    Raises:
        TypeError: there is no ``Bert`` in the model.
    """
    for layer in encoder_of(model).layers:
        layer.compile(**{"dynamic": True, "fullgraph": True, **options})
