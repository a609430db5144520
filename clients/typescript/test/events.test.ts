/** The event stream: order, filters, and what happens while the daemon is away. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { Pensa, type LogEntry } from "../src/index.js";
import { Daemon, pn, unusedUrl } from "./daemon.js";

let daemon: Daemon;
let pensa: Pensa;

before(async () => {
  daemon = await Daemon.start();
  pensa = new Pensa({ url: daemon.url, actor: "ana" });
});
after(() => daemon.stop());

const create = (title: string) => pensa.issueCreate({ title, issue_type: "task" });

async function next(events: AsyncGenerator<LogEntry, void>): Promise<LogEntry> {
  const { value } = await events.next();
  return value ?? assert.fail("the stream ended");
}

test("events after a number come first, then new ones, in order", async () => {
  const [first, second] = [await create("eins 🥇"), await create("zwei")];
  const events = pensa.events({ after: 0 });
  assert.deepEqual([(await next(events)).subject_id, (await next(events)).subject_id], [first.id, second.id]);
  const third = next(events);
  const { id } = await create("drei");
  assert.equal((await third).subject_id, id);
  await events.return();
});

test("a filtered stream has only what was asked for", async () => {
  const events = pensa.events({ after: 0, type: "closed", by: "ben" });
  const { id } = await create("to close");
  await pensa.issueClose({ id: (await create("closed by ana")).id });
  await pensa.issueClose({ id }, { actor: "ben" });
  const event = await next(events);
  assert.deepEqual([event.event_type, event.subject_id, event.actor], ["closed", id, "ben"]);
  await events.return();
});

test("a stream goes on after a restart, without a gap and without repetition", async () => {
  const { end } = await pensa.eventList({ limit: 1 });
  const events = pensa.events({ after: end });
  await create("before the restart");
  const seen = [await next(events)];
  await daemon.pause();
  pn(daemon.directory, "new", "while the daemon is away", "-t", "task", "--actor", "ben");
  await daemon.resume();
  seen.push(await next(events));
  await create("after the restart");
  seen.push(await next(events));
  const titles = seen.map(({ detail }) => (detail["title"] as { new: string }).new);
  assert.deepEqual(titles, ["before the restart", "while the daemon is away", "after the restart"]);
  assert.deepEqual(seen.map((event) => event.id - end), [1, 2, 3]);
  await events.return();
});

test("a stream that has had no event yet continues where it began", async () => {
  let connected = () => {};
  const connection = new Promise<void>((resolve) => (connected = resolve));
  const listening: typeof fetch = async (...request) => {
    const response = await fetch(...request);
    connected();
    return response;
  };
  const events = new Pensa({ url: daemon.url, fetch: listening }).events();
  const waiting = next(events);
  await connection;
  await daemon.pause();
  const id = pn(daemon.directory, "new", "unseen", "-t", "task", "-q").trim();
  await daemon.resume();
  assert.equal((await waiting).subject_id, id);
  await events.return();
});

test("a number beyond the log is a conflict", async () => {
  await assert.rejects(next(pensa.events({ after: 1_000_000 })), { code: "conflict" });
});

test("a stream ends with its signal, and when the server stays away", async () => {
  const ends = new AbortController();
  const aborted = next(pensa.events({}, { signal: ends.signal }));
  setTimeout(() => ends.abort(new Error("enough")), 50);
  await assert.rejects(aborted, /enough/);
  const away = new Pensa({ url: await unusedUrl() });
  await assert.rejects(next(away.events()), { code: "unreachable" });
});
