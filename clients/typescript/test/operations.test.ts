/** Operations: issues, errors, texts of every kind, and the way into path and query. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { Pensa, PensaError } from "../src/index.js";
import { routes } from "../src/operations.js";
import { Daemon } from "./daemon.js";

let daemon: Daemon;
let ana: Pensa;
let ben: Pensa;

before(async () => {
  daemon = await Daemon.start();
  ana = new Pensa({ url: daemon.url, actor: "ana", session: "s1" });
  ben = new Pensa({ url: daemon.url, actor: "ben" });
});
after(() => daemon.stop());

test("every operation has a method", () => {
  for (const name of Object.keys(routes)) {
    const method = name.replace(/[._](.)/g, (_, letter: string) => letter.toUpperCase());
    assert.equal(typeof (ana as unknown as Record<string, unknown>)[method], "function", method);
  }
});

test("a misspelt or a missing field is an error of the compiler, and of the server", async () => {
  // @ts-expect-error titel is no field.
  await assert.rejects(ana.issueCreate({ titel: "x", issue_type: "task" }), { code: "invalid_input", status: 400 });
  // @ts-expect-error An issue has a type.
  await assert.rejects(ana.issueCreate({ title: "x" }), { code: "invalid_input" });
  // @ts-expect-error There is no such status.
  await assert.rejects(ana.issueList({ status: "done" }), { code: "invalid_input" });
});

test("an issue is created, claimed and closed", async () => {
  const { id, status } = await ana.issueCreate({ title: "log in", issue_type: "task", labels: ["auth"] });
  assert.equal(status, "open");
  assert.ok((await ana.issueReady()).some((issue) => issue.id === id));
  const claimed = await ana.issueUpdate({ id, claim: true, ttl: "15m" });
  assert.equal(claimed.assignee, "ana");
  assert.equal((await ana.issueShow({ id })).claim_session, "s1");
  const closed = await ana.issueClose({ id, reason: "done" });
  assert.deepEqual([closed.status, closed.close_reason], ["closed", "done"]);
  const listed = await ana.issueList({ status: "closed", limit: 5 });
  assert.ok(listed.some((issue) => issue.id === id));
});

test("a refused claim has a code, a hint and a status", async () => {
  const { id } = await ana.call("issue.create", { title: "once", issue_type: "bug", priority: "p0" });
  await ana.issueUpdate({ id, claim: true });
  await assert.rejects(ben.issueUpdate({ id, claim: true }), (error: unknown) => {
    assert.ok(error instanceof PensaError && error instanceof Error);
    assert.deepEqual([error.code, error.status], ["already_claimed", 409]);
    assert.match(error.message, /held by ana/);
    assert.match(error.hint ?? "", /pn ready/);
    return true;
  });
});

test("texts keep every character, in bodies, paths, queries and headers", async () => {
  const title = "Größe 🦀 ‘“ \\ 日本 %2F";
  const zoe = new Pensa({ url: daemon.url, actor: "Zoë 🐙" });
  const { id } = await zoe.issueCreate({ title, issue_type: "chore", assignee: "Zoë & co" });
  assert.equal((await zoe.issueShow({ id })).title, title);
  assert.deepEqual((await zoe.issueList({ assignee: "Zoë & co" })).map((issue) => issue.id), [id]);
  assert.equal((await zoe.issueHistory({ id }))[0]?.actor, "Zoë 🐙");
  await zoe.recordPut({ collection: "notes", id: "ä/b c?", data: { text: title } });
  assert.deepEqual((await zoe.recordGet({ collection: "notes", id: "ä/b c?" })).data, { text: title });
});

test("an id that is a word of the API is still an id", async () => {
  const missing = (error: unknown) => error instanceof PensaError && error.code === "not_found";
  await assert.rejects(ana.issueShow({ id: "ready" }), missing);
  await assert.rejects(ana.issueShow({ id: "../issues" }), missing);
  await assert.rejects(ana.issueShow({ id: ".." }), { code: "invalid_input" });
});

test("lists are repeated in a query, and records come in pages", async () => {
  for (const n of [1, 2, 3]) await ana.recordPut({ collection: "jobs", id: `j${n}`, data: { n, status: "new" } });
  const where = ["status=new", "n>=2"];
  const { records } = await ana.recordQuery({ collection: "jobs", where, order: "n desc" });
  assert.deepEqual(records.map((record) => record.id), ["j3", "j2"]);
  await assert.rejects(ana.recordPut({ collection: "jobs", id: "j1", data: {}, if_rev: 1_000_000 }), { code: "conflict" });
});

test("a batch happens as a whole", async () => {
  const operations = [
    { op: "issue.create", title: "first", issue_type: "task", as: "first" },
    { op: "issue.create", title: "second", issue_type: "task", deps: ["@first"] },
  ];
  assert.equal((await ana.batch({ operations })).length, 2);
  await assert.rejects(ana.batch({ operations: [...operations, { op: "issue.show", id: "pn-zzzz" }] }));
  assert.equal((await ana.issueSearch({ q: "second" })).length, 1);
});

test("a store other than the expected one is refused", async () => {
  const wrong = new Pensa({ url: daemon.url, storeId: "00000000-0000-7000-8000-000000000000" });
  await assert.rejects(wrong.issueList(), { code: "wrong_store" });
});

test("an address with a password is refused, and not repeated", () => {
  assert.throws(() => new Pensa({ url: "http://ana:s3cret@host" }), (error: Error) => !error.message.includes("s3cret"));
});
