"""Runs `pn daemon` and `pn serve` for tests. The variable PN names the program."""

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import tempfile
import threading
import unittest
from collections.abc import Callable

from pensa_client import Pensa, PensaError

PROGRAM = os.environ.get("PN", "pn")


def pn(directory: str, *args: str) -> str:
    """Runs `pn` in a directory. Returns what it prints."""
    return subprocess.run([PROGRAM, *args], cwd=directory, check=True, stdout=subprocess.PIPE, text=True).stdout


class Daemon:
    """A server process on a directory of its own."""

    def __init__(self) -> None:
        self._temporary = tempfile.TemporaryDirectory(prefix="pensa-client-")
        self.directory = self._temporary.name
        self.port = 0
        self._process: subprocess.Popen[str] | None = None

    @classmethod
    def start(cls) -> "Daemon":
        """A daemon on a new project."""
        daemon = cls()
        pn(daemon.directory, "init", "--quiet", "--no-hooks")
        daemon.resume()
        return daemon

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def resume(self, *args: str) -> None:
        """Starts it, on the same port as before."""
        args = args or ("daemon", "--project-dir", self.directory, "--port", str(self.port))
        self._process = subprocess.Popen(
            [PROGRAM, *args, "--json"], cwd=self.directory, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        assert self._process.stdout
        self.port = int(json.loads(self._process.stdout.readline())["url"].rsplit(":", 1)[1])

    def pause(self) -> None:
        if self._process:
            self._process.send_signal(signal.SIGTERM)
            self._process.communicate()
            self._process = None

    def stop(self) -> None:
        self.pause()
        self._temporary.cleanup()


class WithDaemon(unittest.TestCase):
    """Tests that share a daemon and two clients."""

    daemon: Daemon
    ana: Pensa
    ben: Pensa

    @classmethod
    def setUpClass(cls) -> None:
        cls.daemon = Daemon.start()
        cls.addClassCleanup(cls.daemon.stop)
        cls.ana = Pensa(cls.daemon.url, actor="ana", session="s1")
        cls.ben = Pensa(cls.daemon.url, actor="ben")
        cls.addClassCleanup(cls.ana.close)
        cls.addClassCleanup(cls.ben.close)

    def refused(self, code: str, call: Callable[[], object]) -> PensaError:
        with self.assertRaises(PensaError) as caught:
            call()
        self.assertEqual(caught.exception.code, code, caught.exception)
        return caught.exception


class LossyProxy:
    """Passes requests on to a daemon, and loses as many answers as it is told to."""

    def __init__(self, daemon: Daemon) -> None:
        self.answers_to_lose = 0
        self.requests = 0
        self._daemon = daemon
        self._server = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._server.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    def stop(self) -> None:
        self._server.close()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._server.accept()
                threading.Thread(target=self._pass_on, args=[client], daemon=True).start()

    def _pass_on(self, client: socket.socket) -> None:
        with contextlib.suppress(OSError), client:
            with socket.create_connection(("127.0.0.1", self._daemon.port)) as daemon:
                while request := whole_request(client):
                    self.requests += 1
                    # The daemon answers to its own name only.
                    host = f"Host: 127.0.0.1:{self._daemon.port}".encode()
                    daemon.sendall(re.sub(rb"(?im)^host: [^\r]*", host, request, count=1))
                    answer = daemon.recv(1 << 16)
                    if self.answers_to_lose > 0:
                        self.answers_to_lose -= 1
                        return
                    client.sendall(answer)


def whole_request(client: socket.socket) -> bytes:
    """One request with its body; nothing if the client has closed."""
    request = b""
    while part := client.recv(1 << 16):
        request += part
        head, ends, body = request.partition(b"\r\n\r\n")
        length = re.search(rb"(?i)content-length: (\d+)", head)
        if ends and len(body) >= (int(length[1]) if length else 0):
            break
    return request


def unused_url() -> str:
    """An address at which nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"http://127.0.0.1:{server.getsockname()[1]}"
