"""Who may talk to the server: names it answers to, sites that may connect, and a token for others.

A web page of another site can make a browser send requests here. It cannot fake the Host and Origin
headers, which have to be this server's own. A Host that is a name must be on a list, or a stranger
could let a name of theirs point to this machine; the address that a connection came in on is always
right. A server that other machines can reach also wants a token, which is in the address it prints.
"""

import hmac
import ipaddress
import secrets
import socket
from collections.abc import Iterable
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qsl, urlencode, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOOPBACK = ("127.0.0.1", "localhost", "::1")
EVERYWHERE = ("0.0.0.0", "::", "")  # addresses to listen on that are no names to call it by
TOKEN = "token"  # in the address, and then in a cookie
HEADERS = {
    "Cache-Control": "no-cache",
    # The page is all there is: it loads nothing from elsewhere, and no other site can frame it.
    "Content-Security-Policy": "default-src 'self'; img-src 'self' data: blob:; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}


def names_of(host: str, others: Iterable[str]) -> tuple[str, ...]:
    """The names by which a server on that address can be called; `others` are a user's own."""
    own = () if host in LOOPBACK else (socket.gethostname(), socket.getfqdn())
    given = () if host in EVERYWHERE else (host,)
    return tuple(dict.fromkeys(name.lower() for name in (*LOOPBACK, *given, *own, *others)))


def new_token() -> str:
    return secrets.token_urlsafe(16)


class Guard:
    """Wraps the application: refuses strangers, and puts the security headers on every answer."""

    def __init__(self, app: ASGIApp, names: Iterable[str], token: str = "") -> None:
        self._app = app
        self._names = frozenset(names)
        self._token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] in ("http.response.start", "websocket.http.response.start"):
                headers = MutableHeaders(raw=list(message.get("headers", ())))
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
                message = {**message, "headers": headers.raw}
            await send(message)

        answer = self._refusal(scope)
        if answer is None:
            await self._app(scope, receive, send_with_headers)
        elif scope["type"] == "http" or "websocket.http.response" in scope.get("extensions", {}):
            await answer(scope, receive, send_with_headers)
        else:
            await send({"type": "websocket.close", "code": 1008})

    def _refusal(self, scope: Scope) -> Response | None:
        """What to answer instead of the application, if anything."""
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if not self._is_ours(host, scope.get("server")):
            return PlainTextResponse("this server does not have that name", 400)
        origin = headers.get("origin")
        if origin is not None and not _is_same_site(origin, host):
            return PlainTextResponse("pages of other sites are not served", 403)
        return self._check_token(scope, headers) if self._token else None

    def _is_ours(self, host: str, server: tuple[str, int | None] | None) -> bool:
        name = _name_in(host)
        if name in self._names:
            return True
        try:  # an address says nothing about who sent the browser here, a name could be anybody's
            return server is not None and ipaddress.ip_address(name) == ipaddress.ip_address(
                server[0]
            )
        except ValueError:
            return False

    def _check_token(self, scope: Scope, headers: Headers) -> Response | None:
        """The token in the address becomes a cookie, so that it does not stay in the address."""
        if self._is_right(_cookie(headers.get("cookie", ""))):
            return None
        asked = parse_qsl(scope.get("query_string", b"").decode("latin-1"), keep_blank_values=True)
        if not self._is_right(dict(asked).get(TOKEN, "")):
            return PlainTextResponse("open the address that errands watch has printed", 403)
        rest = urlencode([(name, value) for name, value in asked if name != TOKEN])
        answer = RedirectResponse(f"/?{rest}" if rest else "/", 303)
        answer.set_cookie(TOKEN, self._token, httponly=True, samesite="strict")
        return answer

    def _is_right(self, token: str) -> bool:
        return hmac.compare_digest(token.encode(), self._token.encode())


def _name_in(host: str) -> str:
    """The name in a Host header, without its port; "" if there is none."""
    try:
        return (urlsplit(f"//{host}").hostname or "").lower()
    except ValueError:
        return ""


def _is_same_site(origin: str, host: str) -> bool:
    try:
        parts = urlsplit(origin)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and parts.netloc.lower() == host.lower()


def _cookie(text: str) -> str:
    try:
        cookies = SimpleCookie(text)
    except CookieError:
        return ""
    return cookies[TOKEN].value if TOKEN in cookies else ""
