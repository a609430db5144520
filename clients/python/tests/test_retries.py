"""Retries: a change that was sent twice happens once."""

import contextlib
import socket
import threading
from collections.abc import Iterator

from pensa_client import Pensa
from tests.daemon import LossyProxy, WithDaemon, unused_url


@contextlib.contextmanager
def scripted(*answers: str) -> Iterator[str]:
    """A server that gives these answers, one a connection."""
    server = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with contextlib.suppress(OSError):
            for answer in answers:
                with server.accept()[0] as client:
                    client.recv(1 << 16)
                    client.sendall(answer.encode())

    threading.Thread(target=serve, daemon=True).start()
    with server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


def answer(status: str, body: str) -> str:
    return f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n{body}"


class Retries(WithDaemon):
    def setUp(self) -> None:
        self.proxy = LossyProxy(self.daemon)
        self.addCleanup(self.proxy.stop)

    def titled(self, title: str) -> list[str]:
        return [issue["id"] for issue in self.ana.issue_list() if issue["title"] == title]

    def test_a_change_whose_answer_is_lost_is_made_once(self) -> None:
        client = Pensa(self.proxy.url, retry_delays=[0.001] * 3)
        self.proxy.answers_to_lose = 2
        id = client.issue_create(title="answered at last", issue_type="task")["id"]
        self.assertEqual(self.proxy.requests, 3)
        self.assertEqual(self.titled("answered at last"), [id])

    def test_retries_end_and_the_error_has_the_key_with_which_to_go_on(self) -> None:
        client = Pensa(self.proxy.url, retry_delays=[0.001] * 2)
        self.proxy.answers_to_lose = 3
        error = self.refused("unreachable", lambda: client.issue_create(title="not known", issue_type="task"))
        self.assertIn("not known whether", str(error))
        self.assertTrue(error.idempotency_key)
        again = client.with_options(idempotency_key=error.idempotency_key)
        again.issue_create(title="not known", issue_type="task")
        self.assertEqual(len(self.titled("not known")), 1)

    def test_the_same_key_gets_the_same_answer_and_another_request_with_it_is_refused(self) -> None:
        client = self.ana.with_options(idempotency_key="job-17")
        first = client.issue_create(title="log out", issue_type="task")
        self.assertEqual(client.issue_create(title="log out", issue_type="task"), first)
        self.refused("conflict", lambda: client.issue_create(title="another", issue_type="task"))

    def test_a_call_survives_a_restart_of_the_daemon(self) -> None:
        client = Pensa(self.daemon.url, retry_delays=[0.1] * 100)
        client.issue_list()
        self.daemon.pause()
        created: list[str] = []
        caller = threading.Thread(
            target=lambda: created.append(client.issue_create(title="while away", issue_type="task")["title"])
        )
        caller.start()
        self.daemon.resume()
        caller.join()
        self.assertEqual(created, ["while away"])

    def test_a_kept_connection_that_ended_is_replaced_without_a_retry(self) -> None:
        client = Pensa(self.daemon.url, retry_delays=[])
        client.issue_list()
        self.daemon.pause()
        self.daemon.resume()
        self.assertEqual(client.issue_list(), self.ana.issue_list())

    def test_busy_is_tried_again_and_a_refusal_is_not(self) -> None:
        busy = answer("503 Service Unavailable", '{"error":"many writers","code":"busy"}')
        slow = answer("429 Too Many Requests", "slow down")
        refusal = answer("403 Forbidden", '{"error":"no","code":"forbidden"}')
        proxy = answer("502 Bad Gateway", "<html>")
        with scripted(busy, slow, proxy, answer("200 OK", "[]"), refusal) as url:
            client = Pensa(url, retry_delays=[0.001] * 3)
            self.assertEqual(client.issue_list(), [])
            self.assertEqual(self.refused("forbidden", client.issue_list).status, 403)

    def test_another_server_is_not_mistaken_for_pensa(self) -> None:
        for status in ["200 OK", "404 Not Found"]:
            with scripted(answer(status, "<html>")) as url:
                error = self.refused("unreachable", Pensa(url).issue_list)
                self.assertIn("does not answer like Pensa", str(error))

    def test_a_call_is_bounded_in_time(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as silent:
            client = Pensa(f"http://127.0.0.1:{silent.getsockname()[1]}", timeout=0.2)
            self.refused("unreachable", client.issue_list)

    def test_nothing_that_listens_is_an_error_with_a_hint(self) -> None:
        client = Pensa(unused_url(), retry_delays=[0.001])
        error = self.refused("unreachable", lambda: client.issue_create(title="x", issue_type="task"))
        self.assertNotIn("not known", str(error))
        self.assertIn("pn daemon", error.hint or "")
