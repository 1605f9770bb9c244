"""A server for one page and one person: on this machine only, and with a token.

Another page that is open in the same browser can send requests to this machine, too. So every
request must name this server as its host (a name that resolves to 127.0.0.1 is not enough), have
the token, which only the address of the page has, and must not come from another origin.
"""

import json
import os
import secrets
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from isotopic.serve.session import Session

#: Bytes of a request; a pasted text is the largest.
LARGEST_REQUEST = 2_000_000

#: The header that has the token of a request of the page.
TOKEN_HEADER = "X-Isotopic-Token"

# Seconds after which a connection that sends nothing is closed.
_PATIENCE = 30

# Who may show the page in a frame: nobody, or notebooks on this machine.
_FRAMES = {
    False: "'none'",
    True: "http://127.0.0.1:* http://localhost:* https://localhost:* vscode-webview:",
}


class PageServer(ThreadingHTTPServer):
    """Serve the page of a session on 127.0.0.1.

    Parameters
    ----------
    session : Session
    port : int, default=0
        0: any that is free.
    in_frames : bool, default=False
        Whether notebooks on this machine may show the page in a frame.

    Attributes
    ----------
    url : str
        The address of the page, with the token.
    """

    daemon_threads = True
    block_on_close = False
    allow_reuse_address = os.name == "posix"  # elsewhere another program could take the port

    def __init__(self, session: Session, port: int = 0, *, in_frames: bool = False) -> None:
        self.session, self.token = session, secrets.token_urlsafe(32)
        self.frames = _FRAMES[in_frames]
        super().__init__(("127.0.0.1", port), _Handler)
        number = self.server_address[1]
        self.hosts = {f"127.0.0.1:{number}", f"localhost:{number}"}
        self.url = f"http://127.0.0.1:{number}/?token={self.token}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: a browser that closes a connection is no error."""


class _Refusal(Exception):  # noqa: N818 - an answer, not an error of the program
    def __init__(self, status: HTTPStatus, message: str) -> None:
        super().__init__(message)
        self.status = status


class _Handler(BaseHTTPRequestHandler):
    server: PageServer
    server_version, sys_version = "isotopic", ""
    timeout = _PATIENCE

    def do_GET(self) -> None:
        """Send the page, or the comparison with the version before."""
        pages = {"/": self.server.session.page, "/change": self.server.session.change_page}
        self._answer(lambda: self._page(pages))

    def do_POST(self) -> None:
        """Do what the page asks for."""
        self._answer(self._run)

    def _page(self, pages: dict[str, Any]) -> tuple[str, bytes]:
        address = urlsplit(self.path)
        self._check(parse_qs(address.query).get("token", [""])[0], needs_origin=False)
        if address.path not in pages:
            raise _Refusal(HTTPStatus.NOT_FOUND, "There is no such page.")
        content: bytes = pages[address.path]()
        return "text/html; charset=utf-8", content

    def _run(self) -> tuple[str, bytes]:
        self._check(self.headers.get(TOKEN_HEADER, ""), needs_origin=True)
        if urlsplit(self.path).path != "/api":
            raise _Refusal(HTTPStatus.NOT_FOUND, "There is no such address.")
        answer = self.server.session.run(self._read_request())
        return "application/json", json.dumps(answer).encode()

    def _check(self, token: str, *, needs_origin: bool) -> None:
        """Refuse requests of other hosts and origins, and without the token."""
        if self.headers.get_all("Host", []) not in [[host] for host in self.server.hosts]:
            raise _Refusal(HTTPStatus.FORBIDDEN, "This server has another name.")
        origins = self.headers.get_all("Origin", [])
        allowed = [[f"http://{host}"] for host in self.server.hosts]
        if origins not in allowed and (needs_origin or origins):
            raise _Refusal(HTTPStatus.FORBIDDEN, "Requests of other origins are refused.")
        if not secrets.compare_digest(token.encode(), self.server.token.encode()):
            raise _Refusal(
                HTTPStatus.FORBIDDEN,
                "The token is missing or wrong. Use the address that was printed at the start.",
            )

    def _read_request(self) -> Any:
        kind = self.headers.get("Content-Type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            raise _Refusal(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "A request must be JSON.")
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdigit()) or "Transfer-Encoding" in self.headers:
            raise _Refusal(HTTPStatus.LENGTH_REQUIRED, "A request must state its length.")
        if len(length) > 15 or int(length) > LARGEST_REQUEST:
            raise _Refusal(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
                f"The request is too large: {LARGEST_REQUEST:,} bytes are allowed.",
            )
        try:
            return json.loads(self.rfile.read(int(length)))
        except (ValueError, RecursionError) as error:
            raise _Refusal(HTTPStatus.BAD_REQUEST, "The request is not JSON.") from error

    def _answer(self, make: Any) -> None:
        """Send what a function returns, or its error as JSON."""
        status = HTTPStatus.OK
        try:
            kind, content = make()
        except _Refusal as refusal:
            status, kind, content = refusal.status, "application/json", _error(refusal)
        except (ValueError, TypeError) as error:
            status, kind, content = HTTPStatus.BAD_REQUEST, "application/json", _error(error)
        except Exception as error:
            status, kind = HTTPStatus.INTERNAL_SERVER_ERROR, "application/json"
            content = _error(f"Unexpected error ({type(error).__name__}: {error}).")
        self.send_response(status)
        headers = {
            "Content-Type": kind,
            "Content-Length": str(len(content)),
            "Cache-Control": "no-store",
            "Content-Security-Policy": f"frame-ancestors {self.server.frames}",
            "Cross-Origin-Resource-Policy": "same-origin",
            "Referrer-Policy": "no-referrer",
            "X-Content-Type-Options": "nosniff",
        }
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: the address has the token."""


def _error(message: Any) -> bytes:
    return json.dumps({"error": str(message)}).encode()
