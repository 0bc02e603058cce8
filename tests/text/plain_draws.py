"""Draws by place in plain Python, another road to the same numbers."""


def splitmix64(start: int, count: int) -> list[int]:
    """The generator as its authors wrote it: a state that each call moves on. Unsigned."""
    numbers, state = [], start % 2**64
    for _ in range(count):
        state = (state + 0x9E3779B97F4A7C15) % 2**64
        z = state
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
        numbers.append(z ^ (z >> 31))
    return numbers


def key_of(*parts: int) -> int:
    """Each part picks one number of the generator that starts at the key so far."""
    key = 0
    for part in parts:
        key = splitmix64((key + part * 0x9E3779B97F4A7C15) % 2**64, 1)[0]
    return key
