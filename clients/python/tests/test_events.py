"""The event stream: order, filters, and what happens while the daemon is away."""

import queue
import threading
from collections.abc import Iterator

from pensa_client import LogEntry, Pensa
from tests.daemon import WithDaemon, pn, unused_url

PATIENCE = 60


class Events(WithDaemon):
    def create(self, title: str) -> str:
        return self.ana.issue_create(title=title, issue_type="task")["id"]

    def test_events_after_a_number_come_first_then_new_ones_in_order(self) -> None:
        end = self.ana.event_list(limit=1)["end"]
        first, second = self.create("eins 🥇"), self.create("zwei")
        events = self.ana.events(after=end)
        self.assertEqual([next(events)["subject_id"], next(events)["subject_id"]], [first, second])
        third = self.create("drei")
        self.assertEqual(next(events)["subject_id"], third)

    def test_a_filtered_stream_has_only_what_was_asked_for(self) -> None:
        id, other = self.create("to close"), self.create("closed by ana")
        self.ana.issue_close(id=other)
        self.ben.issue_close(id=id)
        event = next(self.ana.events(after=0, type="closed", by="ben"))
        self.assertEqual((event["event_type"], event["subject_id"], event["actor"]), ("closed", id, "ben"))

    def test_a_stream_goes_on_after_a_restart_without_a_gap_and_without_repetition(self) -> None:
        end = self.ana.event_list(limit=1)["end"]
        events = self.ana.events(after=end)
        self.create("before the restart")
        seen = [next(events)]
        self.daemon.pause()
        pn(self.daemon.directory, "new", "while the daemon is away", "-t", "task", "--actor", "ben")
        self.daemon.resume()
        seen.append(next(events))
        self.create("after the restart")
        seen.append(next(events))
        titles = [event["detail"]["title"]["new"] for event in seen]
        self.assertEqual(titles, ["before the restart", "while the daemon is away", "after the restart"])
        self.assertEqual([event["id"] - end for event in seen], [1, 2, 3])

    def test_a_stream_that_has_had_no_event_yet_continues_where_it_began(self) -> None:
        received: queue.Queue[LogEntry] = queue.Queue()
        client = Pensa(self.daemon.url)
        connected = threading.Event()
        connect = client._transport.connect

        def watched(timeout: float) -> object:
            connection = connect(timeout)
            getresponse = connection.getresponse

            def answered() -> object:
                response = getresponse()
                response.peek()
                connected.set()
                return response

            connection.getresponse = answered
            return connection

        client._transport.connect = watched
        threading.Thread(target=lambda: received.put(next(client.events())), daemon=True).start()
        self.assertTrue(connected.wait(PATIENCE))
        self.daemon.pause()
        id = pn(self.daemon.directory, "new", "unseen", "-t", "task", "-q").strip()
        self.daemon.resume()
        self.assertEqual(received.get(timeout=PATIENCE)["subject_id"], id)

    def test_a_number_beyond_the_log_is_a_conflict(self) -> None:
        self.refused("conflict", lambda: next(self.ana.events(after=1_000_000)))

    def test_a_stream_ends_when_the_server_stays_away(self) -> None:
        self.refused("unreachable", lambda: next(Pensa(unused_url()).events()))
        events: Iterator[LogEntry] = Pensa(self.daemon.url, outage_limit=0.5).events(after=0)
        self.create("seen")
        next(events)
        self.daemon.pause()
        self.addCleanup(self.daemon.resume)
        self.refused("unreachable", lambda: list(events))
