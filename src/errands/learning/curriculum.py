"""Curricula: maps and lists that grow with the success rate (paper, appendix E), and events."""

from dataclasses import replace

from errands.worlds.spec import SMALLEST, Setting, WorldSpec

GROW_AT = 0.9  # success rate at which the next map size is added [O]
PATIENCE = 5  # consecutive batches with that success rate [O]
GROW_LISTS_AT = 0.85  # success rate at which lists become longer [O]
ENOUGH = 0.5  # share of used events at which they are as frequent as in the original world [O]
MEMORY = 4  # batches over which that share is averaged [O]


def smallest_size(full: Setting) -> int:
    """The map size that a curriculum begins with."""
    return min(SMALLEST, full.sizes[0])


def crowded(spec: WorldSpec, setting: Setting, most: float) -> Setting:
    """Maps of which up to a share of `most` is covered by objects.

    Half of these are targets, half what targets turn into: a list of 20 begins with as many
    targets as fit, and leaves as many blocks of ice behind, which lists of 4 never show.
    """
    if most <= setting.objects[1]:
        return setting
    targets = setting.scattered
    remains = tuple(spec.transforms.get(name) for name in targets)
    left = tuple(name for name in remains if name is not None)
    return replace(setting, scattered=targets + left, objects=(setting.objects[0], most))


def walled(setting: Setting, most: float) -> Setting:
    """Maps of which up to a share of `most` is walls."""
    return replace(setting, walls=(setting.walls[0], max(setting.walls[1], most)))


class Curriculum:
    """The range of map sizes: only 7 at first, then 7 to 8, and so on up to all sizes."""

    def __init__(self, full: Setting, *, enabled: bool = True) -> None:
        self._full = full
        self._enabled = enabled
        self._smallest = smallest_size(full)
        self.largest = self._smallest if enabled else full.sizes[1]
        self._good_batches = 0

    @property
    def grown(self) -> bool:
        """Whether the largest maps are included."""
        return self.largest == self._full.sizes[1]

    @property
    def setting(self) -> Setting:
        sizes = self._smallest, self.largest
        return replace(self._full, sizes=sizes) if self._enabled else self._full

    def learn(self, success: float) -> bool:
        """Take a batch's success rate into account; true when the setting has changed."""
        self._good_batches = self._good_batches + 1 if success >= GROW_AT else 0
        if self.grown or self._good_batches < PATIENCE:
            return False
        self.largest += 1
        self._good_batches = 0
        return True

    def facts(self) -> dict[str, int]:
        return {"largest": self.largest, "good_batches": self._good_batches}

    def restore(self, facts: dict[str, int]) -> None:
        self.largest, self._good_batches = facts["largest"], facts["good_batches"]


class ListCurriculum:
    """The range of list lengths: 1 at first, and one more each time those are learned."""

    def __init__(self, longest: int) -> None:
        self._longest = longest
        self.reached = 1
        self.mastered = False  # the longest are learned as well
        self._good_batches = 0

    @property
    def lengths(self) -> tuple[int, int]:
        return 1, self.reached

    @property
    def growth(self) -> float:
        """From 0 with lists of 1 to 1 with the longest."""
        return (self.reached - 1) / max(self._longest - 1, 1)

    def learn(self, success: float) -> bool:
        """Take a batch's success rate into account; true when lists have become longer."""
        self._good_batches = self._good_batches + 1 if success >= GROW_LISTS_AT else 0
        if self._good_batches < PATIENCE:
            return False
        self._good_batches = 0
        self.mastered = self.mastered or self.reached == self._longest
        if self.mastered:
            return False
        self.reached += 1
        return True

    def facts(self) -> dict[str, int]:
        facts = {"reached": self.reached, "mastered": self.mastered}
        return facts | {"good_batches": self._good_batches}

    def restore(self, facts: dict[str, int]) -> None:
        self.reached, self.mastered = facts["reached"], bool(facts["mastered"])
        self._good_batches = facts["good_batches"]


class EventCurriculum:
    """How frequent events are: more than in the original world while few of them are used.

    An agent that never meets an event cannot learn its value; where events are always frequent,
    waiting for the next one pays better than finishing the list.
    """

    def __init__(self) -> None:
        self.caught = 0.0  # running mean of the share of events that were used

    def learn(self, caught: float) -> None:
        self.caught += (caught - self.caught) / MEMORY

    def times(self, most: float) -> float:
        """The factor on the world's probability of an event: `most` while none is used."""
        return 1.0 + (most - 1.0) * max(0.0, 1.0 - self.caught / ENOUGH)

    def facts(self) -> dict[str, float]:
        return {"caught": self.caught}

    def restore(self, facts: dict[str, float]) -> None:
        self.caught = facts["caught"]
