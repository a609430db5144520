/** Conversations of the OpenAI Agents SDK, run by its own runner with a model that answers from a script. */

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, test } from "node:test";

import { Agent, Runner, Usage, tool, type AgentInputItem, type Model, type ModelRequest, type ModelResponse } from "@openai/agents-core";
import { z } from "zod";

import { Pensa } from "../src/index.js";
import { PensaSession } from "../src/openai-agents.js";
import { Daemon, pn } from "./daemon.js";

let daemon: Daemon;
let client: Pensa;

before(async () => {
  daemon = await Daemon.start();
  client = new Pensa({ url: daemon.url });
});
after(() => daemon.stop());

const user = (content: string): AgentInputItem => ({ role: "user", content });

/** Answers with what it is told to, and remembers what it was asked. */
class ScriptedModel implements Model {
  readonly asked: ModelRequest["input"][] = [];
  constructor(readonly answers: ModelResponse["output"][]) {}

  async getResponse({ input }: ModelRequest): Promise<ModelResponse> {
    this.asked.push(structuredClone(input));
    return { usage: new Usage(), output: this.answers.shift() ?? assert.fail("asked too often") };
  }

  getStreamedResponse(): never {
    throw new Error("not streamed");
  }
}

const says = (text: string): ModelResponse["output"] => [
  { type: "message", role: "assistant", status: "completed", content: [{ type: "output_text", text }] },
];

test("a conversation goes on in another process's session object", async () => {
  const model = new ScriptedModel([
    [{ type: "function_call", callId: "c1", name: "weather", arguments: '{"city":"Zürich"}', status: "completed" }],
    says("Sonne ☀️ in Zürich"),
    says("You asked about Zürich"),
  ]);
  const weather = tool({
    name: "weather",
    description: "the weather",
    parameters: z.object({ city: z.string() }),
    execute: ({ city }) => `sun in ${city}`,
  });
  const agent = new Agent({ name: "helper", model, tools: [weather] });
  const runner = new Runner({ tracingDisabled: true });
  const first = new PensaSession("chat 17 – Zoë", { client });
  const { finalOutput } = await runner.run(agent, "the weather in Zürich?", { session: first });
  assert.equal(finalOutput, "Sonne ☀️ in Zürich");
  const second = new PensaSession("chat 17 – Zoë", { client: new Pensa({ url: daemon.url }) });
  await runner.run(agent, "what did I ask?", { session: second });
  const heard = JSON.stringify(model.asked[2]);
  for (const part of ["the weather in Zürich?", "sun in Zürich", "Sonne ☀️ in Zürich", "what did I ask?"]) {
    assert.ok(heard.includes(part), `${part}: ${heard}`);
  }
  const items = await second.getItems();
  assert.equal(items.length, 6);
  assert.deepEqual(items, await first.getItems());
  assert.match(pn(daemon.directory, "session", "search", "Sonne"), /assistant_message/);
});

test("items come back as they were, and the last ones with a limit", async () => {
  const session = new PensaSession("limits", { client });
  assert.deepEqual(await session.getItems(), []);
  const items = ["a", "b", "c"].map(user);
  await session.addItems(items.slice(0, 1));
  await session.addItems(items.slice(1));
  await session.addItems([]);
  assert.deepEqual(await session.getItems(), items);
  assert.deepEqual(await session.getItems(2), items.slice(1));
  assert.deepEqual(await session.getItems(0), []);
  assert.deepEqual(await session.getItems(9), items);
  assert.equal(await session.getSessionId(), "limits");
});

test("items are popped from the end, each by one caller only", async () => {
  const session = new PensaSession("pops", { client });
  assert.equal(await session.popItem(), undefined);
  const items = Array.from({ length: 6 }, (_, n) => user(`item ${n}`));
  await session.addItems(items);
  assert.deepEqual(await session.popItem(), items[5]);
  const others = Array.from({ length: 5 }, () => new PensaSession("pops", { client }));
  const popped = await Promise.all(others.map((other) => other.popItem()));
  const texts = popped.map((item) => JSON.stringify(item)).sort();
  assert.deepEqual(texts, items.slice(0, 5).map((item) => JSON.stringify(item)));
  assert.deepEqual(await session.getItems(), []);
  await session.addItems([user("again")]);
  assert.deepEqual(await session.getItems(), [user("again")]);
});

test("a cleared conversation is empty, and its history is kept", async () => {
  const session = new PensaSession("cleared", { client });
  await session.clearSession();
  await session.addItems([user("old")]);
  await session.clearSession();
  assert.deepEqual(await session.getItems(), []);
  await session.addItems([user("new")]);
  assert.deepEqual(await session.getItems(), [user("new")]);
  assert.equal((await client.sessionHistory({ id: "cleared", all: true })).length, 2);
});

test("two that begin a conversation at once share it", async () => {
  const sessions = Array.from({ length: 8 }, () => new PensaSession("shared", { client }));
  await Promise.all(sessions.map((session, n) => session.addItems([user(`${n}`)])));
  assert.equal((await sessions[0]!.getItems()).length, 8);
  assert.equal((await client.agentList()).filter((agent) => agent.name === "shared").length, 1);
});

test("secrets are replaced unless asked otherwise", async () => {
  const secret = `ghp_${(randomUUID() + randomUUID()).replaceAll("-", "").slice(0, 36)}`;
  for (const redact of [true, false]) {
    const session = new PensaSession(`secrets ${redact}`, { client, redact });
    await session.addItems([user(`my token is ${secret}`)]);
    assert.equal(JSON.stringify(await session.getItems()).includes(secret), !redact);
  }
});
