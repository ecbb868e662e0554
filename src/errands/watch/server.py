"""The server: the page's own files, its sprites, and one WebSocket for each page that is open."""

import asyncio
import contextlib
import io
import logging
import socket
import typing
from collections.abc import AsyncIterator
from functools import partial
from importlib.resources import files

import uvicorn
from PIL import Image
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, WebSocketRoute
from starlette.types import ASGIApp
from starlette.websockets import WebSocket, WebSocketDisconnect

from errands.watch import choices, connections
from errands.watch.choices import Cast
from errands.watch.guard import LOOPBACK, TOKEN, Guard
from errands.watch.protocol import Answer, Notice, Refused, spell
from errands.watch.sessions import Gone, Session, Sessions
from errands.worlds.art import load_art
from errands.worlds.draw import sprite_sheet
from errands.worlds.spec import WORLDS

MOST_SESSIONS = 64
IDLE_SECONDS = 30 * 60.0
LARGEST_MESSAGE = 2**20  # bytes; a page that sends more is cut off before it is read
TRY_AGAIN_LATER, GOING_AWAY = 1013, 1001  # WebSocket close codes

MEDIA = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}


def create_app(
    cast: Cast,
    *,
    most_sessions: int = MOST_SESSIONS,
    idle_seconds: float = IDLE_SECONDS,
    hosts: tuple[str, ...] = LOOPBACK,
    token: str = "",
) -> ASGIApp:
    """The application: `cast` are the actors, `hosts` the names it may be called by.

    Where there is a token, only those are served who have it.
    """
    hello = choices.hello(cast)
    page = _page_files()
    sheets = {name: _sheet(name) for name in WORLDS}

    async def page_file(request: Request) -> Response:
        name = request.path_params.get("name", "index.html")
        if name not in page:
            raise HTTPException(404)
        content, media = page[name]
        return Response(content, media_type=media)

    async def sprites(request: Request) -> Response:
        world = request.path_params["world"]
        if world not in sheets:
            raise HTTPException(404)
        return Response(sheets[world], media_type="image/png")

    async def talk(websocket: WebSocket) -> None:
        await _talk(websocket, websocket.app.state.sessions, idle_seconds)

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        app.state.sessions = Sessions(connections.most_sessions(most_sessions), cast, hello)
        yield
        app.state.sessions.thread.close()

    app = Starlette(
        routes=[
            Route("/", page_file),
            Route("/sprites/{world}.png", sprites),
            WebSocketRoute("/talk", talk),
            Route("/{name}", page_file),
        ],
        lifespan=lifespan,
    )
    return Guard(app, hosts, token)


def _page_files() -> dict[str, tuple[bytes, str]]:
    """The page's files by name; nothing else can be asked for."""
    folder = files("errands.watch").joinpath("page")
    found = {}
    for file in folder.iterdir():
        suffix = f".{file.name.rpartition('.')[2]}"
        if suffix in MEDIA:
            found[file.name] = file.read_bytes(), MEDIA[suffix]
    return found


def _sheet(world: str) -> bytes:
    spec = WORLDS[world]
    picture = io.BytesIO()
    sheet = sprite_sheet(spec.objects, load_art(spec.art_name))
    Image.fromarray(sheet).save(picture, format="PNG")
    return picture.getvalue()


class _Line:
    """The connection to a page over its WebSocket."""

    def __init__(self, websocket: WebSocket) -> None:
        self._websocket = websocket

    async def say(self, answer: Answer) -> None:
        await self._send({"text": spell(answer)})

    async def hand_over(self, content: bytes) -> None:
        await self._send({"bytes": content})

    async def _send(self, content: dict[str, str | bytes]) -> None:
        try:
            await self._websocket.send({"type": "websocket.send", **content})
        except (WebSocketDisconnect, RuntimeError) as closed:
            raise Gone from closed


async def _talk(websocket: WebSocket, sessions: Sessions, idle_seconds: float) -> None:
    """Serve one page until it goes, falls asleep, or the server ends."""
    await websocket.accept()
    line = _Line(websocket)
    try:
        session = sessions.open(line)
    except Refused as refusal:
        await line.say(Notice(str(refusal), "server"))
        await websocket.close(TRY_AGAIN_LATER, "too many pages")
        return
    try:
        await line.say(sessions.hello)
        await _listen(websocket, session, line, idle_seconds)
    except (Gone, asyncio.CancelledError):  # cancelled: the server ends, and waits for nobody
        pass
    finally:
        sessions.close(session)


async def _listen(websocket: WebSocket, session: Session, line: _Line, idle_seconds: float) -> None:
    while True:
        try:
            async with asyncio.timeout(idle_seconds):
                message = await websocket.receive()
        except TimeoutError:
            if session.going:
                continue  # a person may still be watching
            minutes = f"{idle_seconds / 60:g} minutes"
            await line.say(Notice(f"nothing was asked for {minutes}, so this page rests", "idle"))
            await websocket.close(GOING_AWAY, "idle")
            return
        if message["type"] == "websocket.disconnect":
            return
        text = message.get("text")
        if text is None:
            await line.say(Notice("messages are text, not bytes", "message"))
        else:
            await session.hear(text)
        await asyncio.sleep(0)  # a page that sends without pause leaves room for the others


def listen_on(host: str, port: int) -> socket.socket:
    """The socket to serve on; an OSError says why there is none."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return socket.create_server((host, port), family=family)


def address(listening: socket.socket, token: str = "") -> str:
    """What to open in a browser."""
    host, port = listening.getsockname()[:2]
    shown = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)
    return f"http://{shown}:{port}/" + (f"?{TOKEN}={token}" if token else "")


def build_server(app: ASGIApp) -> uvicorn.Server:
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
    idle = connections.Idle(connections.most_idle())
    protocol = partial(connections.PunctualProtocol, idle=idle)
    return uvicorn.Server(
        uvicorn.Config(
            app,
            http=typing.cast(type[asyncio.Protocol], protocol),
            backlog=connections.AT_ONCE,
            access_log=False,
            log_level="error",
            ws_max_size=LARGEST_MESSAGE,
            ws_per_message_deflate=False,  # on loopback, compressing costs more than sending
            server_header=False,
            timeout_graceful_shutdown=1,
        )
    )
