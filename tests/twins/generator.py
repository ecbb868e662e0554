"""The worlds' random numbers in plain Python: splitmix64 on integers of any size."""

GAMMA = 0x9E3779B97F4A7C15
WORD = 2**64


class Generator:
    """One world's stream of random numbers."""

    def __init__(self, state: int) -> None:
        self.state = state

    @classmethod
    def from_seed(cls, seed: int) -> "Generator":
        state = seed % WORD
        for _ in range(2):
            state = (_finalised(state) + GAMMA) % WORD
        return cls(state)

    def word(self) -> int:
        self.state = (self.state + GAMMA) % WORD
        return _finalised(self.state)

    def uniform(self) -> float:
        return (self.word() >> 11) / 2**53

    def below(self, bound: int) -> int:
        return int(self.uniform() * bound)


def _finalised(z: int) -> int:
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % WORD
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB % WORD
    return z ^ (z >> 31)
