"""`errands watch`: a page in the browser that shows an agent at work."""

import errno
import os
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from errands.commands.problem import Problem, check_range

if TYPE_CHECKING:
    from errands.commands.actors import Actor
    from errands.evaluation.episodes import Policy
    from errands.watch.choices import Cast
    from errands.worlds.vector import Worlds

PORT = 8642


def check_installed() -> None:
    """The web page needs packages that nothing else needs."""
    try:
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
        import websockets  # noqa: F401
    except ImportError as error:
        raise Problem(f"{error.name} is missing; pip install 'errands[watch]'") from None


@dataclass(frozen=True)
class Watch:
    """Watch an agent and its decisions in the browser.

    Prints an address to open. There you choose a world and an agent, type a list, and watch; you
    can step, drop an enemy in the agent's way, act yourself, and save the episode as a film or a
    link. The page can only be reached from this machine unless --host is given; others then need
    the token in the printed address. Ctrl-C stops it.

    examples
      errands watch
      errands watch --weights runs/dynamic --open
      errands watch --port 0
      errands watch --host 0.0.0.0 --name lab.example.org
    """

    weights: Annotated[Path | None, tyro.conf.arg(metavar="FOLDER", help_behavior_hint="")] = None
    """The folder of your own run (errands train meta), offered beside the shipped agents."""
    port: int = PORT
    """Port to listen on; 0 takes any free port."""
    host: str = "127.0.0.1"
    """Address to listen on. The default can only be reached from this machine."""
    name: Annotated[
        tyro.conf.UseAppendAction[tuple[str, ...]],
        tyro.conf.arg(metavar="NAME", help_behavior_hint="(repeatable)"),
    ] = ()
    """Another name of this machine under which others open the page."""
    open: bool = False
    """Open the page in the browser."""
    sessions: int = 64
    """Maximum number of pages open at once."""
    idle: float = 30.0
    """Minutes after which an inactive page is disconnected."""

    def execute(self) -> int:
        check_range("--port", self.port, 0, 65535)
        check_range("--sessions", self.sessions, 1, 10_000)
        check_range("--idle", self.idle, 0.01, 100_000)
        check_installed()
        from errands.commands.screen import compiling_notice
        from errands.watch.guard import LOOPBACK, names_of, new_token
        from errands.watch.server import address, build_server, create_app, listen_on

        try:
            listening = listen_on(self.host, self.port)
        except (OSError, UnicodeError) as error:
            number = getattr(error, "errno", None) or 0
            reason = os.strerror(number).lower() if number > 0 else "there is no such address"
            hint = "try --port 0" if number == errno.EADDRINUSE else "try --host 127.0.0.1"
            raise Problem(f"{self.host}:{self.port}: {reason}; {hint}") from None
        with listening:
            local = self.host in LOOPBACK
            token = "" if local else new_token()
            with compiling_notice():
                app = create_app(
                    self._cast(),
                    most_sessions=self.sessions,
                    idle_seconds=60 * self.idle,
                    hosts=names_of(self.host, self.name),
                    token=token,
                )
            print(f"watch at {address(listening, token)} (Ctrl-C ends it)", flush=True)
            if not local:
                names = ", ".join(names_of(self.host, self.name))
                print(
                    f"others need the token, too; besides its address it answers to {names} "
                    "(--name adds another)",
                    flush=True,
                )
            if self.open:
                webbrowser.open(address(listening, token))
            build_server(app).run(sockets=[listening])
        return 0

    def _cast(self) -> "Cast":
        """Every agent that exists, in the worlds that it can act in."""
        from errands.agents.registry import AGENTS
        from errands.commands.actors import choose_actor
        from errands.worlds.spec import WORLDS

        cast: dict[str, dict[str, Callable[[Worlds], Policy]]] = {world: {} for world in WORLDS}
        for world, agents in cast.items():
            for name in AGENTS:
                with suppress(Problem):  # it is not shipped for this world
                    agents[name] = choose_actor(world, name).make_policy
        if self.weights is not None:
            world, own = self._own()
            cast[world] = {f"{own.name} ({self.weights})": own.make_policy, **cast[world]}
        return cast

    def _own(self) -> "tuple[str, Actor]":
        from errands.commands.actors import choose_actor
        from errands.worlds.spec import WORLDS

        problem = Problem("")
        for world in WORLDS:
            try:
                return world, choose_actor(world, None, self.weights)
            except Problem as error:
                problem = error
        raise problem
