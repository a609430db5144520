"""A team server: projects and tokens."""

import json
import unittest

from pensa_client import Pensa, PensaError
from tests.daemon import Daemon, pn


class Server(unittest.TestCase):
    def setUp(self) -> None:
        self.server = Daemon()
        self.addCleanup(self.server.stop)
        data = ["--data-dir", f"{self.server.directory}/data"]
        pn(self.server.directory, "project", "create", "web", *data)
        created = pn(self.server.directory, "token", "create", "--project", "web", "--role", "agent", "--json", *data)
        self.token = json.loads(created)["token"]
        self.server.resume("serve", "--listen", "127.0.0.1:0", *data)

    def test_a_project_is_reached_with_its_token(self) -> None:
        web = Pensa(self.server.url, project="web", token=self.token, actor="ana")
        id = web.issue_create(title="deploy", issue_type="task")["id"]
        self.assertEqual(next(web.events(after=0))["subject_id"], id)

    def test_without_its_token_or_in_another_project_it_is_not(self) -> None:
        for project, token, codes in [
            ("web", "", ["unauthorized"]),
            ("web", "wrong", ["unauthorized"]),
            ("app", self.token, ["forbidden", "not_found"]),
        ]:
            client = Pensa(self.server.url, project=project, token=token)
            for call in [client.issue_list, lambda client=client: next(client.events())]:
                with self.assertRaises(PensaError) as caught:
                    call()
                self.assertIn(caught.exception.code, codes)
