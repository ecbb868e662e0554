"""`errands watch`: a page in the browser that shows an agent at work."""

import webbrowser
from dataclasses import dataclass

from errands.commands.problem import Problem, check_range

PORT = 8642


def check_installed() -> None:
    """The page needs packages that nothing else does."""
    try:
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
        import websockets  # noqa: F401
    except ImportError as error:
        raise Problem(f"{error.name} is missing; pip install 'errands[watch]'") from None


@dataclass(frozen=True)
class Watch:
    """Watch an agent in the browser, and see what it thinks.

    Prints an address to open. There you choose a world and an agent, type a list, and watch; you
    can step, drop an enemy in the agent's way, act yourself, and keep the episode as a film or a
    link. Everything stays on this machine unless --host says otherwise. Ctrl-C ends it.

    examples
      errands watch
      errands watch --open
      errands watch --port 0
    """

    port: int = PORT
    """Where to listen; 0 takes any port that is free."""
    host: str = "127.0.0.1"
    """Which address to listen on. The default can be reached from this machine only."""
    open: bool = False
    """Open the page in the browser."""
    sessions: int = 64
    """How many pages may be open at once."""
    idle: float = 30.0
    """Minutes after which a page that asks for nothing is let go."""

    def execute(self) -> int:
        check_range("--port", self.port, 0, 65535)
        check_range("--sessions", self.sessions, 1, 10_000)
        check_range("--idle", self.idle, 0.01, 100_000)
        check_installed()
        from errands.commands.screen import compiling_notice
        from errands.watch import choices
        from errands.watch.server import LOOPBACK, address, build_server, create_app, listen_on

        try:
            listening = listen_on(self.host, self.port)
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise Problem(f"{self.host}:{self.port}: {reason}; try --port 0") from None
        with listening:
            with compiling_notice():
                hello = choices.hello()
            local = self.host in LOOPBACK
            app = create_app(
                hello,
                most_sessions=self.sessions,
                idle_seconds=60 * self.idle,
                hosts=LOOPBACK if local else ("*",),
            )
            print(f"watch at {address(listening)} (Ctrl-C ends it)", flush=True)
            if not local:
                print(f"{self.host} can be reached by others, who can then use this page, too")
            if self.open:
                webbrowser.open(address(listening))
            build_server(app).run(sockets=[listening])
        return 0
