"""Worked solutions to the exercises of the chapter "The encoder". They use its imports and no more."""


def my_layer_norm(x, weight, bias, eps):
    """x (*B, H), weight and bias (H,) → the same shape as x"""
    # One mean for each token. keepdim leaves an axis of size 1 to broadcast along.
    centred = x - x.mean(dim=-1, keepdim=True)
    # Divided by H, not H − 1: this describes these H numbers and estimates nothing.
    variance = centred.square().mean(dim=-1, keepdim=True)  # (*B, 1)
    # Under the root, eps keeps a token whose numbers are all equal from 0 / 0.
    normalised = centred / (variance + eps).sqrt()
    # One weight and one bias for each of the H entries, the same for every token.
    return weight * normalised + bias


def count_parameters(
    vocab_size,
    hidden_size,
    num_layers,
    intermediate_size,
    max_positions,
    num_segments,
):
    """→ the number of parameters, an int"""

    def linear(inputs, outputs):  # a matrix and a bias
        return inputs * outputs + outputs

    # All tables have rows of H numbers. They are added, so that one LayerNorm does.
    tables = (vocab_size + max_positions + num_segments) * hidden_size
    layer_norm = 2 * hidden_size  # a weight and a bias

    # Query, key, value and W_O. Heads share these out: their number changes nothing.
    attention = 4 * linear(hidden_size, hidden_size)
    up = linear(hidden_size, intermediate_size)
    down = linear(intermediate_size, hidden_size)
    layer = attention + layer_norm + up + down + layer_norm

    pooler = linear(hidden_size, hidden_size)  # tanh has no parameters
    return tables + layer_norm + num_layers * layer + pooler


def my_encoder_layer(hidden, attention, feed_forward, norm_1, norm_2):
    """hidden (B, S, H), four functions (B, S, H) → (B, S, H); returns (B, S, H)"""
    # Add first, then normalise: post-norm.
    x = norm_1(hidden + attention(hidden))
    # The second half starts from what the first gave, on both sides of the plus.
    return norm_2(x + feed_forward(x))
