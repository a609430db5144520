"""Times adds and gets of the same items in SQLiteSession of openai-agents and in Pensa, and prints rates as JSON.

Arguments: a file with an entry a line, a database, the name of a new session in it, the address of a daemon, and how
many times all items are read.
"""

import asyncio
import http.client
import json
import sqlite3
import sys
import time

from agents import SQLiteSession


class PensaSession:
    """What SQLiteSession does, with one kept connection to a daemon; it leaves the event loop free in the same way."""

    def __init__(self, address):
        self.connection = http.client.HTTPConnection(address)
        self.path = "/agents/" + self.ask("POST", "/agents", {"type": "user"})["id"]

    def ask(self, method, path, body=None):
        headers = {"Pensa-Actor": "bench", "Content-Type": "application/json"}
        self.connection.request(method, path, body and json.dumps(body), headers)
        answer = self.connection.getresponse()
        text = answer.read()
        if answer.status >= 300:
            raise RuntimeError(f"{method} {path}: {answer.status} {text}")
        return json.loads(text)

    async def add_items(self, items):
        await asyncio.to_thread(self.ask, "POST", self.path + "/entries", {"entries": items})

    async def get_items(self):
        path = self.path.replace("/agents/", "/sessions/") + "/entries"
        entries = await asyncio.to_thread(self.ask, "GET", path)
        return [entry["data"] for entry in entries]


async def measure(session, items, expected, gets):
    start = time.perf_counter()
    for item in items:
        await session.add_items([item])
    added = time.perf_counter()
    for _ in range(gets):
        got = await session.get_items()
    ended = time.perf_counter()
    if got != expected:
        raise RuntimeError(f"{type(session).__name__} gave back other items than it was given")
    return {"add": len(items) / (added - start), "get": gets / (ended - added)}


async def main(entries_file, database, name, address, gets):
    with open(entries_file) as lines:
        entries = [json.loads(line) for line in lines]
    items = [entry["data"] for entry in entries]
    theirs = await measure(SQLiteSession(name, database), items, items, int(gets))
    pensa = await measure(PensaSession(address), entries, items, int(gets))
    connection = sqlite3.connect(database)
    pragmas = {name: connection.execute("PRAGMA " + name).fetchone()[0] for name in ["journal_mode", "synchronous"]}
    print(json.dumps({"sqlite_session": theirs, "pensa": pensa, "pragmas": pragmas}))


asyncio.run(main(*sys.argv[1:]))
