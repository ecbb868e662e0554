"""Both worlds in plain Python: names in a dictionary of cells, and one step after another.

Nothing is encoded and nothing is kept that can be counted. Only the order in which random numbers
are drawn follows the kernels, so that both can be compared number by number.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from errands.worlds.spec import Setting, WorldSpec
from twins.generator import Generator

Cell = tuple[int, int]
SIZE = 10
VERBS = ["visit", "pick up", "transform", "interact with"]
COMPASS = ["north", "east", "south", "west"]  # clockwise
AHEAD = {"north": (-1, 0), "east": (0, 1), "south": (1, 0), "west": (0, -1)}
WALK_ORDER = ["north", "south", "west", "east"]
EVERYWHERE = [(row, column) for row in range(SIZE) for column in range(SIZE)]
INSIDE = [(row, column) for row in range(1, SIZE - 1) for column in range(1, SIZE - 1)]


def neighbour(cell: Cell, direction: str, steps: int = 1) -> Cell:
    return cell[0] + steps * AHEAD[direction][0], cell[1] + steps * AHEAD[direction][1]


@dataclass
class Goal:
    """One instruction: `quantity` is a count or "all", `owed` targets appear when it begins."""

    verb: str
    object: str
    quantity: int | str
    owed: int = 0


@dataclass
class Event:
    cell: Cell
    left: int


@dataclass
class Twin:
    """One world. What `Twin.read` makes of a kernel's record can be compared with `==`."""

    spec: WorldSpec = field(repr=False)
    setting: Setting = field(repr=False)
    things: dict[Cell, str]  # "wall", "water" or an object's name; empty cells are absent
    agent: Cell
    heading: str
    pitch: int
    goals: list[Goal]
    progress: int
    achieved: int
    deed: tuple[str, str] | None
    event: Event | None
    events: int
    events_used: int
    steps: int
    step_limit: int
    random_state: int
    happened: Counter[str] = field(default_factory=Counter, compare=False)

    @classmethod
    def read(
        cls, spec: WorldSpec, setting: Setting, record: np.void, rows: NDArray[np.int16]
    ) -> "Twin":
        """The state that a kernel's record and its rows of goals describe."""
        names = ["", "wall", "water", *spec.objects]
        things = {cell: names[record["tiles"][cell]] for cell in EVERYWHERE}
        counted = [list(things.values()).count(name) for name in spec.objects]
        counted += [0] * (len(record["counts"]) - len(counted))
        assert record["counts"].tolist() == counted, "the kernel's counts are not true"
        goals = [
            Goal(VERBS[verb], spec.objects[target], quantity or "all", owed)
            for verb, target, quantity, owed in rows[: record["length"]].tolist()
        ]
        deed, event, place = None, None, int(record["event_cell"])
        if record["deed_verb"] >= 0:
            deed = (VERBS[record["deed_verb"]], spec.objects[record["deed_object"]])
        if place >= 0:
            event = Event((place // SIZE, place % SIZE), int(record["event_left"]))
        return cls(
            spec=spec,
            setting=setting,
            things={cell: name for cell, name in things.items() if name},
            agent=(int(record["row"]), int(record["column"])),
            heading=COMPASS[record["heading"]],
            pitch=int(record["pitch"]),
            goals=goals,
            progress=int(record["progress"]),
            achieved=int(record["achieved"]),
            deed=deed,
            event=event,
            events=int(record["events"]),
            events_used=int(record["events_used"]),
            steps=int(record["steps"]),
            step_limit=int(record["step_limit"]),
            random_state=int(record["random"]),
        )

    def differences(self, other: "Twin") -> dict[str, tuple[Any, Any]]:
        """The fields that differ, for a failing test to show."""
        pairs = {
            item.name: (getattr(self, item.name), getattr(other, item.name))
            for item in fields(self)
            if item.compare
        }
        return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}

    def count(self, name: str) -> int:
        return list(self.things.values()).count(name)

    @property
    def done(self) -> bool:
        return self.progress == len(self.goals)

    @property
    def over(self) -> bool:
        return self.done or self.steps >= self.step_limit

    def step(self, action: str) -> float:
        """One step; returns its reward."""
        if self.over:
            return 0.0
        self.act(action)
        self.walk()
        if self.setting.event:
            self.come_and_go()
        self.advance()
        if self.setting.forgiving and not self.done:
            self.put_back()
        self.steps += 1
        return self.pay()

    def act(self, action: str) -> None:
        """The agent's own part: an action of either world, by its name in the world's enum."""
        self.deed = None
        self.heading, self.pitch = turned(self.heading, self.pitch, action)
        to = destination(self.agent, self.heading, action)
        if to is not None and self.things.get(to) != "wall":
            self.agent = to
            if self.things.get(to, "water") != "water":
                self.deed = ("visit", self.things[to])
        at = handled(self.agent, self.heading, action)
        if at is not None and self.things.get(at, "wall") not in ("wall", "water"):
            name = self.things.pop(at)
            self.deed = ("pick up" if action.startswith("PICK_UP") else "transform", name)
            product = self.spec.transforms.get(name)
            if self.deed[0] == "transform" and product is not None:
                self.things[at] = product

    def walk(self) -> None:
        chances = self.spec.walks
        walkers = [cell for cell in EVERYWHERE if chances.get(self.things.get(cell, ""), 0) > 0]
        for cell in walkers:
            name = self.things[cell]
            if self.uniform() >= chances[name]:
                continue
            to = neighbour(cell, WALK_ORDER[self.below(4)])
            is_event = self.event is not None and self.event.cell == cell
            taken_event = self.event is not None and self.event.cell == to
            if to in self.things or to == self.agent or taken_event:
                continue
            self.happened["walked"] += 1
            self.things[to] = self.things.pop(cell)
            if is_event:
                self.event.cell = to

    def come_and_go(self) -> None:
        kind = self.spec.event
        if self.event is not None:
            self.event.left -= 1
            if self.things.get(self.event.cell) != kind.object:
                self.event = None
            elif self.event.left == 0:
                self.happened["event left"] += 1
                del self.things[self.event.cell]
                self.event = None
        elif self.uniform() < (kind.probability if kind else 0.0):  # a number is drawn anyway
            cell = self.place(kind.object)
            if cell is not None:
                self.happened["event came"] += 1
                self.event = Event(cell, kind.lifetime)
                self.events += 1

    def advance(self) -> None:
        self.bring_owed()
        goal = self.goals[self.progress]
        verb = goal.verb
        if verb == "interact with":
            verb = self.spec.interact.get(goal.object, "pick up")
        if self.deed != (verb, goal.object):
            return
        self.happened[goal.verb] += 1
        self.achieved += 1
        if goal.quantity == "all":
            finished = self.count(goal.object) == 0
        else:
            finished = self.achieved >= goal.quantity
        if finished:
            self.happened["all" if goal.quantity == "all" else f"{goal.quantity} times"] += 1
            self.progress += 1
            self.achieved = 0
            again = not self.done and self.goals[self.progress].object == goal.object
            if not self.done and not (goal.quantity == "all" and again):
                self.bring_owed()

    def bring_owed(self) -> None:
        goal = self.goals[self.progress]
        while goal.owed > 0 and self.place_target(goal.object):
            self.happened["supplied"] += 1
            goal.owed -= 1

    def put_back(self) -> None:
        target = self.goals[self.progress].object
        if self.count(target) == 0 and self.place_target(target):
            self.happened["put back"] += 1

    def place_target(self, name: str) -> bool:
        """Out of reach if possible, so that it never hides what the agent has just done."""
        if self.place(name, self.reachable) is not None:
            return True
        avoided = self.reachable if self.make_room(name) else []
        return self.place(name, avoided) is not None

    @property
    def reachable(self) -> list[Cell]:
        return [self.agent, *(neighbour(self.agent, way) for way in COMPASS)]

    def make_room(self, name: str) -> bool:
        """Take away the object that the list needs last; whoever needs it is owed it."""
        ahead = [goal.object for goal in self.goals[self.progress :]]

        def needed(cell: Cell) -> int:
            return [*ahead, self.things[cell]].index(self.things[cell])

        can_go = [
            cell
            for cell in EVERYWHERE
            if self.things.get(cell, "wall") not in ("wall", "water", name)
            and cell not in self.reachable
            and (self.event is None or cell != self.event.cell)
        ]
        if not can_go:
            return False
        self.happened["made room"] += 1
        cell = max(can_go, key=needed)
        if needed(cell) < len(ahead):
            self.happened["owed again"] += 1
            self.goals[self.progress + needed(cell)].owed += 1
        del self.things[cell]
        return True

    def pay(self) -> float:
        rewards = self.spec.rewards
        reward = rewards.step
        if self.things.get(self.agent) == "water":
            self.happened["water"] += 1
            reward = rewards.water
        event = self.spec.event
        if self.setting.event and event is not None and self.deed == ("transform", event.object):
            self.happened["event caught"] += 1
            self.events_used += 1
            reward = rewards.event
        if self.done:
            self.happened["done"] += 1
        elif self.over:
            self.happened["cut off"] += 1
        return reward + rewards.done if self.done else reward

    def place(self, name: str, avoided: Sequence[Cell] = ()) -> Cell | None:
        """Put an object on a random cell with nothing and nobody on it."""
        taken = (*self.things, self.agent, *avoided)
        free = [cell for cell in INSIDE if cell not in taken]
        if not free:
            return None
        cell = free[self.below(len(free))]
        self.things[cell] = name
        return cell

    def uniform(self) -> float:
        generator = Generator(self.random_state)
        number = generator.uniform()
        self.random_state = generator.state
        return number

    def below(self, bound: int) -> int:
        return int(self.uniform() * bound)


def turned(heading: str, pitch: int, action: str) -> tuple[str, int]:
    """Heading and pitch after an action; the grid's actions change neither."""
    if action in ("LOOK_LEFT", "LOOK_RIGHT"):
        clockwise = 1 if action == "LOOK_RIGHT" else -1
        return COMPASS[(COMPASS.index(heading) + clockwise) % 4], pitch
    if action in ("LOOK_UP", "LOOK_DOWN"):
        return heading, max(-1, min(1, pitch + (1 if action == "LOOK_UP" else -1)))
    return heading, pitch


def destination(cell: Cell, heading: str, action: str) -> Cell | None:
    """The cell that a moving action leads to, if no wall is there."""
    if not action.startswith("MOVE_"):
        return None
    way = action.removeprefix("MOVE_").lower()
    if way in ("forward", "backward"):
        return neighbour(cell, heading, 1 if way == "forward" else -1)
    return neighbour(cell, way)


def handled(cell: Cell, heading: str, action: str) -> Cell | None:
    """The cell whose object an action picks up or transforms."""
    for verb in ("PICK_UP", "TRANSFORM"):
        if action.startswith(verb):
            return neighbour(cell, action.removeprefix(verb).strip("_").lower() or heading)
    return None
