/** Retries: a change that was sent twice happens once. */

import assert from "node:assert/strict";
import { createServer, type AddressInfo } from "node:net";
import { after, before, test } from "node:test";

import { Pensa, PensaError } from "../src/index.js";
import { Daemon, LossyProxy, unusedUrl } from "./daemon.js";

let daemon: Daemon;
let proxy: LossyProxy;
let direct: Pensa;

before(async () => {
  daemon = await Daemon.start();
  proxy = await LossyProxy.before(daemon);
  direct = new Pensa({ url: daemon.url });
});
after(async () => {
  proxy.stop();
  await daemon.stop();
});

const titles = async () => (await direct.issueList()).map((issue) => issue.title);

test("a change whose answer is lost is made once", async () => {
  const client = new Pensa({ url: proxy.url, retryDelays: [1, 1, 1] });
  proxy.answersToLose = 2;
  proxy.requests = 0;
  const { id } = await client.issueCreate({ title: "answered at last", issue_type: "task" });
  assert.equal(proxy.requests, 3);
  const made = (await direct.issueList()).filter((issue) => issue.title === "answered at last");
  assert.deepEqual(made.map((issue) => issue.id), [id]);
});

test("retries end, and the error has the key with which to go on", async () => {
  const client = new Pensa({ url: proxy.url, retryDelays: [1, 1] });
  proxy.answersToLose = 3;
  const change = { title: "not known", issue_type: "task" } as const;
  const error = await client.issueCreate(change).catch((error: unknown) => error);
  assert.ok(error instanceof PensaError && error.idempotencyKey);
  assert.equal(error.code, "unreachable");
  assert.match(error.message, /not known whether/);
  await client.issueCreate(change, { idempotencyKey: error.idempotencyKey });
  assert.equal((await titles()).filter((title) => title === "not known").length, 1);
});

test("the same key gets the same answer, and another request with it is refused", async () => {
  const options = { idempotencyKey: "job-17" };
  const first = await direct.issueCreate({ title: "log out", issue_type: "task" }, options);
  assert.deepEqual(await direct.issueCreate({ title: "log out", issue_type: "task" }, options), first);
  await assert.rejects(direct.issueCreate({ title: "another", issue_type: "task" }, options), { code: "conflict" });
});

test("a call survives a restart of the daemon", async () => {
  const client = new Pensa({ url: daemon.url, retryDelays: Array<number>(100).fill(100) });
  await daemon.pause();
  const created = client.issueCreate({ title: "while away", issue_type: "task" });
  await daemon.resume();
  assert.equal((await created).title, "while away");
});

test("busy is tried again, and a refusal is not", async () => {
  const answers = [
    [503, { error: "many writers", code: "busy" }],
    [429, { error: "slow down", code: "busy" }],
    [200, []],
    [403, { error: "no", code: "forbidden" }],
  ] as const;
  let sent = 0;
  const busy = async () => {
    const [status, body] = answers[sent++] ?? assert.fail("one request too many");
    return new Response(JSON.stringify(body), { status });
  };
  const client = new Pensa({ url: "http://127.0.0.1:7533", fetch: busy, retryDelays: [1, 1, 1] });
  assert.deepEqual(await client.issueList(), []);
  await assert.rejects(client.issueList(), { code: "forbidden", status: 403 });
  assert.equal(sent, 4);
});

test("another server is not mistaken for Pensa", async () => {
  for (const status of [200, 404]) {
    const other = async () => new Response("<html>", { status });
    const client = new Pensa({ url: "http://127.0.0.1:7533", fetch: other });
    await assert.rejects(client.issueList(), { code: "unreachable", message: /does not answer like Pensa/ });
  }
});

test("a call is bounded in time, and ends at once when its signal aborts", async () => {
  const silent = createServer(() => {});
  await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
  await assert.rejects(new Pensa({ url, timeout: 200 }).issueList(), { code: "unreachable" });
  const signal = AbortSignal.abort(new Error("enough"));
  await assert.rejects(new Pensa({ url }).call("issue.list", {}, { signal }), /enough/);
  silent.close();
});

test("nothing that listens is an error with a hint", async () => {
  const client = new Pensa({ url: await unusedUrl(), retryDelays: [1] });
  await assert.rejects(client.issueCreate({ title: "x", issue_type: "task" }), (error: PensaError) => {
    assert.equal(error.code, "unreachable");
    assert.doesNotMatch(error.message, /not known/);
    assert.match(error.hint ?? "", /pn daemon/);
    return true;
  });
});
