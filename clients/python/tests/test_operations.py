"""Operations: issues, errors, texts of every kind, and the way into path and query."""

import threading

from pensa_client import Pensa, PensaError
from tests.daemon import WithDaemon


class Operations(WithDaemon):
    def test_an_issue_is_created_claimed_and_closed(self) -> None:
        created = self.ana.issue_create(title="log in", issue_type="task", labels=["auth"])
        id = created["id"]
        self.assertEqual(created["status"], "open")
        self.assertIn(id, [issue["id"] for issue in self.ana.issue_ready()])
        self.assertEqual(self.ana.issue_update(id=id, claim=True, ttl="15m").get("assignee"), "ana")
        self.assertEqual(self.ana.issue_show(id=id).get("claim_session"), "s1")
        closed = self.ana.issue_close(id=id, reason="done")
        self.assertEqual((closed["status"], closed.get("close_reason")), ("closed", "done"))
        self.assertIn(id, [issue["id"] for issue in self.ana.issue_list(status="closed", limit=5)])

    def test_a_refused_claim_has_a_code_a_hint_and_a_status(self) -> None:
        id = self.ana.call("issue.create", {"title": "once", "issue_type": "bug"})["id"]
        self.ana.issue_update(id=id, claim=True)
        error = self.refused("already_claimed", lambda: self.ben.issue_update(id=id, claim=True))
        self.assertEqual(error.status, 409)
        self.assertIn("held by ana", str(error))
        self.assertIn("pn ready", error.hint or "")

    def test_texts_keep_every_character_in_bodies_paths_queries_and_headers(self) -> None:
        title = "Größe 🦀 ‘“ \\ 日本 %2F"
        zoe = self.ana.with_options(actor="Zoë 🐙")
        id = zoe.issue_create(title=title, issue_type="chore", assignee="Zoë & co")["id"]
        self.assertEqual(zoe.issue_show(id=id)["title"], title)
        self.assertEqual([issue["id"] for issue in zoe.issue_list(assignee="Zoë & co")], [id])
        self.assertEqual(zoe.issue_history(id=id)[0]["actor"], "Zoë 🐙")
        zoe.record_put(collection="notes", id="ä/b c?", data={"text": title})
        self.assertEqual(zoe.record_get(collection="notes", id="ä/b c?")["data"], {"text": title})

    def test_an_id_that_is_a_word_of_the_api_is_still_an_id(self) -> None:
        for id in ["ready", "../issues"]:
            self.refused("not_found", lambda id=id: self.ana.issue_show(id=id))
        self.refused("invalid_input", lambda: self.ana.issue_show(id=".."))

    def test_lists_are_repeated_in_a_query(self) -> None:
        for n in [1, 2, 3]:
            self.ana.record_put(collection="jobs", id=f"j{n}", data={"n": n, "status": "new"})
        page = self.ana.record_query(collection="jobs", where=["status=new", "n>=2"], order="n desc")
        self.assertEqual([record["id"] for record in page["records"]], ["j3", "j2"])
        self.refused("conflict", lambda: self.ana.record_put(collection="jobs", id="j1", data={}, if_rev=1_000_000))

    def test_a_field_that_is_a_word_of_python_is_given_by_name(self) -> None:
        agent = self.ana.agent_create(type="user")["id"]
        self.assertEqual(self.ana.signal_list(**{"for": agent}), [])

    def test_a_batch_happens_as_a_whole(self) -> None:
        first = {"op": "issue.create", "title": "first", "issue_type": "task", "as": "first"}
        second = {"op": "issue.create", "title": "second", "issue_type": "task", "deps": ["@first"]}
        self.assertEqual(len(self.ana.batch(operations=[first, second])), 2)
        broken = {"op": "issue.show", "id": "pn-zzzz"}
        with self.assertRaises(PensaError):
            self.ana.batch(operations=[first, second, broken])
        self.assertEqual(len(self.ana.issue_search(q="second")), 1)

    def test_threads_share_a_client(self) -> None:
        threads = [
            threading.Thread(target=self.ana.record_put, kwargs={"collection": "threads", "id": f"{n}", "data": {"n": n}})
            for n in range(32)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(self.ana.record_count(collection="threads")["count"], 32)

    def test_a_store_other_than_the_expected_one_is_refused(self) -> None:
        wrong = Pensa(self.daemon.url, store_id="00000000-0000-7000-8000-000000000000")
        self.refused("wrong_store", wrong.issue_list)

    def test_an_address_with_a_password_is_refused_and_not_repeated(self) -> None:
        error = self.refused("invalid_input", lambda: Pensa("http://ana:s3cret@host"))
        self.assertNotIn("s3cret", str(error))
