"""Worked solutions to the exercises of the chapter "Tokens". They use its imports and no more."""

import itertools


def my_wordpiece(word, vocab):
    """A word and a vocabulary (its keys are the entries) → a list of entries"""
    pieces, start = [], 0
    while start < len(word):
        # The whole rest first, then one character less each time.
        for end in range(len(word), start, -1):
            piece = word[start:end] if start == 0 else "##" + word[start:end]
            if piece in vocab:
                pieces.append(piece)
                start = end
                break
        else:  # no break: not even one character fits
            return ["[UNK]"]  # the whole word, whatever was found before
    return pieces


def build_pair(first, second, cls_id, sep_id):
    """The ids of two texts, of [CLS] and of [SEP] → ids, segments: two lists"""
    one = [cls_id, *first, sep_id]  # [SEP] closes the text before it
    two = [*second, sep_id]
    return one + two, [0] * len(one) + [1] * len(two)


def answer_tokens(offsets, start, end):
    """Offsets of S tokens, an answer text[start:end] → its first and last place"""
    # Token (a, b) shares a character with the answer if each begins before the
    # other ends. Special tokens, (0, 0), end before anything begins.
    places = [k for k, (a, b) in enumerate(offsets) if a < end and start < b]
    return places[0], places[-1]


def frequent_pair(words):
    """{pieces of a word: how often it occurs} → left, right"""
    counts = {}
    for pieces, occurs in words.items():
        for pair in itertools.pairwise(pieces):  # each piece with the next
            counts[pair] = counts.get(pair, 0) + occurs
    return max(counts, key=counts.get)
