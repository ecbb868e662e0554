"""One episode on a page: made from what a link contains, stepped, and sent as frames."""

import base64
from collections import defaultdict, deque
from dataclasses import dataclass, field
from string import ascii_lowercase, digits
from typing import Any

import numpy as np
from numpy.typing import NDArray

from errands.evaluation.account import Witness
from errands.evaluation.episodes import Thought, describe_thought
from errands.evaluation.explain import explain
from errands.evaluation.film import EpisodeFilm
from errands.language.instruction import Instruction, InstructionError, parse_instructions
from errands.seeds import TEST_SEEDS
from errands.watch.choices import ME, Cast, check_world, items
from errands.watch.protocol import (
    LONGEST_LIST,
    LONGEST_TEXT,
    MOST_DROPS,
    MOST_KEYS,
    Begin,
    Begun,
    Dropped,
    Frame,
    Refused,
)
from errands.worlds.gym import instruction_worlds
from errands.worlds.spec import NOTHING, WORLDS
from errands.worlds.tasks import skill_tasks
from errands.worlds.vector import Worlds

DIGITS = digits + ascii_lowercase  # of tiles and actions: there are never more than 36
_AS_DIGITS = bytes.maketrans(bytes(range(len(DIGITS))), DIGITS.encode())
SEEDS = 2**32
FILM_FRAMES = 400  # a longer film is thinned out, so that it fits the memory
OUTCOMES = ("", "done", "out of steps")


@dataclass
class Log:
    """All that happened to a world, so that it can happen again."""

    actions: list[int] = field(default_factory=list)
    drops: list[Dropped] = field(default_factory=list)


def read_list(world: str, text: str) -> list[Instruction]:
    """The instructions of a text; Refused if it is too long, InstructionError if it is wrong."""
    check_world(world)
    if len(text) > LONGEST_TEXT:
        raise Refused(f"the list is too long; {LONGEST_TEXT:,} characters are the most")
    wanted = parse_instructions(text, WORLDS[world].vocabulary)
    if len(wanted) > LONGEST_LIST:
        raise Refused(f"a list of {len(wanted)} is too long; {LONGEST_LIST} are the most")
    return wanted


class Episode:
    """A world, the actor in it, and what has happened."""

    def __init__(self, begin: Begin, cast: Cast, lane: int = 0) -> None:
        try:
            self._instructions = read_list(begin.world, begin.list)
        except InstructionError as error:
            raise Refused(str(error)) from None
        if not 0 <= begin.seed < SEEDS:
            raise Refused(f"the seed is out of range; give a number from 0 to {SEEDS - 1}")
        agents = cast[begin.world]
        if begin.agent != ME and begin.agent not in agents:
            names = ", ".join((*agents, ME))
            raise Refused(f"there is no agent '{begin.agent[:40]}' here; there are {names}")
        self.begin = begin
        self._lane = lane
        self._worlds = self._new_worlds()
        self._planned_keys = self._read_keys(begin.keys)
        self._planned_drops = self._read_drops(begin.drops)
        self._policy = None if begin.agent == ME else agents[begin.agent](self._worlds)
        self._trained = set(skill_tasks(self._worlds.spec, "independent", "train").pool)
        self._names = [self._worlds.kind.action_name(k) for k in range(self._worlds.actions)]
        self._total = 0.0
        self._thought: Thought | None = None
        self._subtask: Instruction | None = None
        self._witness = Witness()
        self._why = ""  # the list was not done, once that is known
        self.log = Log()
        self._drop_planned()

    def _new_worlds(self) -> Worlds:
        worlds = instruction_worlds(self.begin.world, 1, instructions=self.begin.list)
        worlds.seed(TEST_SEEDS + self.begin.seed)
        worlds.reset()
        return worlds

    def _read_keys(self, keys: str) -> deque[int]:
        known = DIGITS[: self._worlds.actions]
        if len(keys) > MOST_KEYS or not set(keys) <= set(known):
            raise Refused("the keys in this link are not understood")
        return deque(known.index(key) for key in keys)

    def _read_drops(self, drops: str) -> dict[int, list[Dropped]]:
        planned: dict[int, list[Dropped]] = defaultdict(list)
        parts = drops.split(",") if drops else []
        try:
            if len(parts) > MOST_DROPS:
                raise ValueError(len(parts))
            for part in parts:
                step, row, column, name = part.split(":")
                drop = Dropped(int(step), int(row), int(column), name)
                planned[drop.step].append(drop)
        except ValueError:
            raise Refused("the drops in this link are not understood") from None
        return planned

    @property
    def over(self) -> bool:
        return bool(self._worlds.status[0])

    @property
    def by_person(self) -> bool:
        """Whether a person acts, now or when the link's keys were pressed."""
        return self.begin.agent == ME

    @property
    def waits(self) -> bool:
        """Whether nothing goes on until a person acts."""
        return self.by_person and not self.over and not self._planned_keys

    def begun(self) -> Begun:
        return Begun(
            lane=self._lane,
            world=self.begin.world,
            agent=self.begin.agent,
            list=self.begin.list,
            seed=self.begin.seed,
            items=items(self.begin.world, self._instructions),
            step_limit=int(self._worlds.privileged[0]["step_limit"]),
            traced=hasattr(self._policy, "trace"),
        )

    def advance(self) -> bool:
        """Take a step if the agent, or a link's keys, know one; false if a person must act."""
        if self.over:
            return False
        if self._policy is None:
            action = self._planned_keys.popleft() if self._planned_keys else NOTHING
        else:
            action = int(self._policy.act(self._worlds)[0])
            self._understand(getattr(self._policy, "trace", None))
        if action == NOTHING:
            return False
        self._take(action)
        return True

    def act(self, name: str) -> None:
        """A person's step."""
        if not self.by_person:
            raise Refused("the agent acts here; choose 'me' to act yourself")
        if name not in self._names:
            raise Refused(f"there is no action '{name[:40]}'")
        if not self.over:
            self._planned_keys.clear()  # from here on the person decides
            self._take(self._names.index(name))

    def drop(self, row: int, column: int, name: str) -> Dropped:
        """Put an object into the world."""
        if self.over:
            raise Refused("the episode has ended; restart it first")
        if len(self.log.drops) >= MOST_DROPS:
            raise Refused(f"{MOST_DROPS} objects are enough for one episode")
        if name not in self._worlds.spec.objects:
            raise Refused(f"there is no object '{name[:40]}' here")
        try:
            self._worlds.drop(0, row, column, name)
        except ValueError:
            raise Refused("an object needs an empty cell inside the walls") from None
        dropped = Dropped(len(self.log.actions), row, column, name)
        self.log.drops.append(dropped)
        return dropped

    def _take(self, action: int) -> None:
        self._witness.see(self._worlds, getattr(self._policy, "trace", None))
        self._worlds.step(np.array([action], np.int64))
        self._total += float(self._worlds.rewards[0])
        self.log.actions.append(action)
        if self.over:
            failure = explain(self._witness.accounts(self._worlds)[0])
            self._why = failure.sentence if failure else ""
        self._drop_planned()

    def _drop_planned(self) -> None:
        """What a link says was dropped at this step. What does not fit any more is left out."""
        for drop in self._planned_drops.pop(len(self.log.actions), ()):
            try:
                self.drop(drop.row, drop.column, drop.object)
            except Refused:
                continue

    def _understand(self, trace: Any) -> None:
        """Keep what a trained agent says of its last decision (`agents.hierarchy.Trace`)."""
        self._thought = describe_thought(self._worlds, trace)
        self._subtask = None  # Flat has no subtasks
        if self._thought and self._thought.subtask:
            words = self._worlds.spec.vocabulary
            self._subtask = Instruction.from_code(trace.subtask[0], words)

    def frame(self, *, going: bool) -> Frame:
        """How things stand."""
        world, words = self._worlds.privileged[0], self._worlds.spec.vocabulary
        action = self.log.actions[-1] if self.log.actions else NOTHING
        subtask = self._subtask if self._thought else self._true_subtask()
        has_view = self._worlds.kind.first_person
        event = int(world["event_left"]) if world["event_cell"] != NOTHING else 0
        return Frame(
            lane=self._lane,
            step=int(world["steps"]),
            tiles=world["tiles"].tobytes().translate(_AS_DIGITS).decode(),
            row=int(world["row"]),
            column=int(world["column"]),
            heading=int(world["heading"]),
            view=base64.b64encode(self._worlds.images[0]).decode() if has_view else "",
            action="" if action == NOTHING else self._names[action],
            code=action,
            deed=self._deed(),
            reward=round(float(self._worlds.rewards[0]), 3),
            total=round(self._total, 3),
            progress=int(world["progress"]),
            achieved=int(world["achieved"]),
            event=event,
            outcome=OUTCOMES[int(self._worlds.status[0])],
            why=self._why,
            subtask=subtask.words(words) if subtask else "",
            subtask_seen=subtask in self._trained,
            thought=self._thought,
            going=going,
        )

    def _true_subtask(self) -> Instruction:
        verb, kind, _ = self._worlds.privileged_subtasks()[0]
        return Instruction.from_code((verb, kind, 1), self._worlds.spec.vocabulary)

    def _deed(self) -> str:
        world = self._worlds.privileged[0]
        if not self.log.actions or world["deed_verb"] == NOTHING:
            return ""
        code = world["deed_verb"], world["deed_object"], 1
        return str(Instruction.from_code(code, self._worlds.spec.vocabulary))


class Replay:
    """The same episode again, for a film: actions are repeated, not decided again."""

    def __init__(self, episode: Episode) -> None:
        self._worlds = episode._new_worlds()
        self._actions = tuple(episode.log.actions)
        self._drops: dict[int, list[Dropped]] = defaultdict(list)
        for drop in episode.log.drops:
            self._drops[drop.step].append(drop)
        self._at = 0
        self._film = EpisodeFilm(self._worlds, FILM_FRAMES)

    def advance(self, steps: int) -> bool:
        """Film some more steps; false when all are filmed."""
        for action in self._actions[self._at : self._at + steps]:
            for drop in self._drops[self._at]:
                self._worlds.drop(0, drop.row, drop.column, drop.object)
            self._worlds.step(np.array([action], np.int64))
            self._at += 1
            self._film.add()
        return self._at < len(self._actions)

    @property
    def frames(self) -> list[NDArray[np.uint8]]:
        return self._film.frames
