/** A team server: projects and tokens. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { Pensa } from "../src/index.js";
import { Daemon, pn } from "./daemon.js";

const server = new Daemon();
let token: string;

before(async () => {
  const data = ["--data-dir", `${server.directory}/data`];
  pn(server.directory, "project", "create", "web", ...data);
  const created = pn(server.directory, "token", "create", "--project", "web", "--role", "agent", "--json", ...data);
  token = (JSON.parse(created) as { token: string }).token;
  await server.resume(["serve", "--listen", "127.0.0.1:0", ...data]);
});
after(() => server.stop());

test("a project is reached with its token", async () => {
  const web = new Pensa({ url: server.url, project: "web", token, actor: "ana" });
  const { id } = await web.issueCreate({ title: "deploy", issue_type: "task" });
  const events = web.events({ after: 0 });
  assert.equal((await events.next()).value?.subject_id, id);
  await events.return();
});

test("without its token, or in another project, it is not", async () => {
  await assert.rejects(new Pensa({ url: server.url, project: "web", token: "" }).issueList(), { code: "unauthorized" });
  await assert.rejects(new Pensa({ url: server.url, project: "app", token }).issueList(), (error: { code: string }) =>
    ["forbidden", "not_found", "unauthorized"].includes(error.code),
  );
  const events = new Pensa({ url: server.url, project: "web", token: "wrong" }).events();
  await assert.rejects(events.next(), { code: "unauthorized" });
});
