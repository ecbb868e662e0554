"""Sessions: one for each open page, with its own episode, pace and errors."""

import asyncio
import contextlib
import logging
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Protocol

import numpy as np

from errands.language.completion import complete
from errands.language.instruction import InstructionError, understood_as
from errands.watch import choices
from errands.watch.episode import Episode, Replay, read_list
from errands.watch.protocol import (
    FASTEST,
    SLOWEST,
    Act,
    Answer,
    Begin,
    Check,
    Checked,
    Drop,
    Dropped,
    Hello,
    Item,
    Mistake,
    Notice,
    Pause,
    Play,
    Refused,
    Request,
    Sample,
    Sampled,
    Save,
    Saved,
    Speed,
    Step,
    read,
)
from errands.watch.turns import Usage, WorldThread
from errands.worlds.film import save_gif, save_mp4
from errands.worlds.spec import WORLDS

LOG = logging.getLogger("errands.watch")
USUAL_RATE = 6.0  # steps a second
STEPS_AT_ONCE = 20  # of a replay, before other pages get their turn
MEDIA = {"gif": "image/gif", "mp4": "video/mp4"}
MOST_COMPLETIONS = 24


class Gone(Exception):
    """The page has closed, and nothing can be sent to it."""


class Line(Protocol):
    """The connection to one page; raises Gone when it is closed."""

    async def say(self, answer: Answer) -> None: ...

    async def hand_over(self, content: bytes) -> None: ...


class Sessions:
    """All open pages, up to a bound."""

    def __init__(self, most: int, cast: choices.Cast, hello: Hello) -> None:
        self.most = most
        self.cast = cast
        self.hello = hello
        self.thread = WorldThread()
        self.filming = asyncio.Semaphore(1)  # films take memory and time: one after another
        self._open: set[Session] = set()

    def open(self, line: Line) -> "Session":
        if len(self._open) >= self.most:
            raise Refused(f"{self.most} pages are open already, which is the most; close one first")
        session = Session(self, line)
        self._open.add(session)
        return session

    def close(self, session: "Session") -> None:
        session.stop()
        self._open.discard(session)

    def __len__(self) -> int:
        return len(self._open)


class Session:
    """What one page asked for, and where it stands."""

    def __init__(self, sessions: Sessions, line: Line) -> None:
        self._sessions = sessions
        self._thread = sessions.thread
        self._usage = Usage()
        self._line = line
        self._lanes: tuple[Episode, ...] = ()  # one episode, or two that share a clock
        self._rate = USUAL_RATE
        self._draw = np.random.default_rng()
        self._going = asyncio.Event()
        self._one_at_a_time = asyncio.Lock()  # a step and a request never meet in one episode
        self._player = asyncio.create_task(self._play())

    @property
    def going(self) -> bool:
        return self._going.is_set()

    def stop(self) -> None:
        self._player.cancel()

    async def hear(self, text: str) -> None:
        """Do what a page asks; an error is reported to this page only."""
        about = "message"
        try:
            request = read(text)
            about = type(request).__name__.lower()
            async with self._one_at_a_time:
                await self._answer(request)
        except Refused as refusal:
            await self._line.say(Notice(str(refusal), about))
        except Gone:
            raise
        except Exception as error:
            await self._fail(error, about)

    async def _fail(self, error: Exception, about: str) -> None:
        """A fault of ours: the page and the terminal report it, and the server keeps running."""
        LOG.warning("%s failed: %r", about, error)
        self._going.clear()
        await self._line.say(Notice(f"that failed on the server ({error})", about))

    async def _answer(self, request: Request) -> None:
        match request:
            case Check():
                checked = self._thread.run_expensive(self._usage, self._checked, request)
                await self._line.say(await checked)
            case Sample(world=world, sort=sort):
                drawn = self._thread.run_expensive(
                    self._usage, choices.sample, world, sort, self._draw
                )
                await self._line.say(Sampled(world, *await drawn))
            case Begin():
                await self._begin(request)
            case Speed(rate=rate):
                self._rate = min(max(rate, SLOWEST), FASTEST)
            case Play():
                self._watched()
                self._going.set()
                await self._show()
            case Pause():
                self._going.clear()
                await self._show()
            case Step():
                self._going.clear()
                await self._thread.run(self._usage, self._advance)
                await self._show()
            case Act(action=action):
                await self._thread.run(self._usage, self._act, action)
                await self._show()
            case Drop(row=row, column=column, object=name):
                dropped = await self._thread.run(self._usage, self._drop, row, column, name)
                await self._line.say(dropped)
                await self._show()
            case Save():
                await self._save(request)

    def _watched(self) -> tuple[Episode, ...]:
        if not self._lanes:
            raise Refused("no episode has begun")
        return self._lanes

    def _advance(self) -> None:
        """One step of the clock, unless a person has to act first."""
        if not any(episode.waits for episode in self._watched()):
            for episode in self._lanes:
                episode.advance()

    def _act(self, action: str) -> None:
        """A person's step; whoever is beside takes one, too."""
        persons = [episode for episode in self._watched() if episode.by_person]
        (persons[0] if persons else self._lanes[0]).act(action)
        for episode in self._lanes:
            if not episode.by_person:
                episode.advance()

    def _drop(self, row: int, column: int, name: str) -> Dropped:
        """Into both worlds; it is refused if there is no place for it in any."""
        done: list[Dropped] = []
        refusal = Refused("")
        for episode in self._watched():
            try:
                done.append(episode.drop(row, column, name))
            except Refused as refused:
                refusal = refused
        if not done:
            raise refusal
        return done[0]

    def _checked(self, request: Check) -> Checked:
        mistake: Mistake | None = None
        items: tuple[Item, ...] = ()
        choices.check_world(request.world)
        words = WORLDS[request.world].vocabulary
        try:
            items = choices.items(request.world, read_list(request.world, request.text))
        except InstructionError as error:
            mistake = Mistake(str(error), error.start, error.end)
        except Refused as refusal:
            return Checked(request.number, (), Mistake(str(refusal), 0, len(request.text)), ())
        reading = "" if mistake else understood_as(request.text, words)
        cursor = request.cursor if 0 <= request.cursor <= len(request.text) else None
        words_next = complete(request.text, words, cursor)[:MOST_COMPLETIONS]
        return Checked(request.number, items, mistake, tuple(words_next), reading)

    async def _begin(self, request: Begin) -> None:
        lanes = await self._thread.run_expensive(self._usage, self._begun, request)
        self._going.clear()
        self._lanes = lanes
        for episode in lanes:
            await self._line.say(episode.begun())
        await self._show()

    def _begun(self, request: Begin) -> tuple[Episode, ...]:
        if request.rival == request.agent:
            raise Refused("two different agents are compared; choose another one")
        agents = (request.agent, request.rival) if request.rival else (request.agent,)
        return tuple(
            Episode(replace(request, agent=agent), self._sessions.cast, lane)
            for lane, agent in enumerate(agents)
        )

    async def _show(self) -> None:
        """How things stand in each lane; the clock stops when they cannot go on."""
        lanes = self._watched()
        if all(episode.over for episode in lanes) or any(episode.waits for episode in lanes):
            self._going.clear()
        going = self.going
        for episode in lanes:
            await self._line.say(await self._thread.run(self._usage, episode.frame, going=going))

    async def _play(self) -> None:
        """Step at the page's pace while the episode is not paused."""
        loop = asyncio.get_running_loop()
        with contextlib.suppress(Gone):
            while True:
                await self._going.wait()
                started = loop.time()
                async with self._one_at_a_time:
                    await self._go_on()
                await asyncio.sleep(max(0.0, started + 1 / self._rate - loop.time()))

    async def _go_on(self) -> None:
        """One step, unless the page has just paused."""
        if not self._lanes or not self.going:
            return
        try:
            await self._thread.run(self._usage, self._advance)
            await self._show()
        except Gone:
            raise
        except Exception as error:
            await self._fail(error, "agent")

    async def _save(self, request: Save) -> None:
        """Repeat the episode so far as a film. The page waits, others do not."""
        episode = self._watched()[0]
        formats = self._sessions.hello.formats
        if request.format not in formats:
            raise Refused(f"films are saved as {' or '.join(formats)}")
        rate = min(max(request.rate, SLOWEST), FASTEST)
        async with self._sessions.filming:
            began = time.monotonic()
            replay = await self._thread.run_expensive(self._usage, Replay, episode)
            while await self._thread.run(self._usage, replay.advance, STEPS_AT_ONCE):
                pass
            content = await asyncio.to_thread(_film, replay, request.format, rate)
            self._usage.rest(time.monotonic() - began)
        name = f"errand-{episode.begin.world}-{episode.begin.seed}.{request.format}"
        await self._line.say(Saved(name, MEDIA[request.format], len(content)))
        await self._line.hand_over(content)


def _film(replay: Replay, format: str, rate: float) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"film.{format}"
        (save_mp4 if format == "mp4" else save_gif)(replay.frames, path, rate)
        return path.read_bytes()
