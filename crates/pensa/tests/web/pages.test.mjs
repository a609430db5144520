// Drives the web pages in a real browser, against daemons and team servers that it starts itself.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { mkdirSync } from "node:fs";
import { createServer } from "node:http";
import { createInterface } from "node:readline";
import { after, before, test } from "node:test";
import axe from "axe-core";
import { chromium } from "playwright-core";

const { PN, CHROMIUM, WORK } = process.env;
const PATIENCE = 30_000;
const children = new Set();
let browser;
let projects = 0;

before(async () => {
  browser = await chromium.launch({
    executablePath: CHROMIUM,
    args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
      "--disable-background-networking", "--disable-component-update", "--host-resolver-rules=MAP evil.test 127.0.0.1"],
  });
});

after(async () => {
  await browser?.close();
  for (const child of children) child.kill();
});

const eventually = async (what, condition) => {
  const end = Date.now() + PATIENCE;
  for (;;) {
    const found = await condition();
    if (found) return found;
    if (Date.now() > end) assert.fail(`did not happen: ${what}`);
    await new Promise((wake) => { setTimeout(wake, 20); });
  }
};

const run = (cwd, args, env = {}) => execFileSync(PN, [...args, "--json"], { cwd, env: { ...process.env, ...env }, encoding: "utf8" });

/** Starts a server, and waits for the line with its address. */
const serve = async (cwd, args) => {
  const child = spawn(PN, [...args, "--json"], { cwd, stdio: ["ignore", "pipe", "ignore"] });
  children.add(child);
  const ended = new Promise((done) => { child.on("exit", done); });
  const first = await new Promise((done) => { createInterface({ input: child.stdout }).once("line", done); });
  const stop = async () => { child.kill("SIGTERM"); children.delete(child); return ended; };
  return { url: JSON.parse(first).url.replace(/\/$/, ""), stop };
};

/** A project with a store and its pages. */
const project = async () => {
  projects += 1;
  const dir = `${WORK}/project-${projects}`;
  mkdirSync(dir);
  run(dir, ["init"]);
  const server = await serve(dir, ["web", "--no-open"]);
  const pn = (...args) => JSON.parse(run(dir, args));
  const create = (title, ...args) => pn("create", title, "-t", "task", ...args).id;
  return { dir, pn, create, ...server };
};

const open = async (url, options = {}) => {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
  context.setDefaultTimeout(PATIENCE);
  const page = await context.newPage();
  page.problems = [];
  page.on("pageerror", (error) => page.problems.push(error.message));
  page.on("dialog", (dialog) => { page.problems.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });
  await page.goto(url);
  return page;
};

const card = (page, id) => page.locator(`.card[data-id="${id}"]`);
const column = (page, status) => page.locator(`.column[data-status="${status}"]`);
const inColumn = (page, id, status) => column(page, status).locator(`[data-id="${id}"]`).waitFor();

test("a card that is dragged to another column is claimed, closed, reopened", async () => {
  const { url, pn, create, stop } = await project();
  const id = create("drag me");
  const page = await open(`${url}/`);
  assert.equal(new URL(page.url()).pathname, "/ui/board");
  for (const status of ["in_progress", "open", "closed", "open"]) {
    await card(page, id).dragTo(column(page, status));
    await eventually(`${id} is ${status}`, () => pn("show", id).status === status);
    await inColumn(page, id, status);
  }
  await page.goto(`${url}/ui/board?lanes=assignee`);
  create("of ben", "-a", "ben");
  await page.locator('.column[data-lane="ben"][data-status="open"]').waitFor();
  await card(page, id).dragTo(page.locator('.column[data-lane="ben"][data-status="open"]'));
  await eventually("the lane is the assignee", () => pn("show", id).assignee === "ben");
  assert.deepEqual(page.problems, []);
  await stop();
});

test("everything on the board is done with the keyboard", async () => {
  const { url, pn, create, stop } = await project();
  const [first, second] = [create("first", "-p", "p0"), create("second", "-p", "p1")];
  const page = await open(`${url}/ui/board`);
  await card(page, first).focus();
  await page.keyboard.press("ArrowDown");
  assert.equal(await page.evaluate(() => document.activeElement.dataset.id), second);
  assert.match(await card(page, second).getAttribute("aria-keyshortcuts"), /Shift\+ArrowRight/);
  await page.keyboard.press("Shift+ArrowRight");
  await eventually("it is claimed", () => pn("show", second).status === "in_progress");
  await inColumn(page, second, "in_progress");
  await page.keyboard.press("Shift+ArrowRight");
  await eventually("the focus stays, so it is closed", () => pn("show", second).status === "closed");
  await inColumn(page, second, "closed");
  await page.keyboard.press("Shift+ArrowLeft");
  await eventually("it is reopened and claimed", () => pn("show", second).status === "in_progress");
  await page.keyboard.press("n");
  await page.keyboard.type("typed in");
  await page.keyboard.press("Enter");
  await page.getByRole("link", { name: "typed in" }).waitFor();
  assert.equal(pn("list", "-s", "open").length, 2);
  await page.keyboard.press("Escape");
  await card(page, first).focus();
  await page.keyboard.press("Enter");
  await page.waitForURL(`**/ui/issues/${first}`);
  await page.keyboard.press("e");
  await page.keyboard.type(" more");
  await page.keyboard.press("Control+Enter");
  await eventually("the title is edited", () => pn("show", first).title.includes("more"));
  assert.deepEqual(page.problems, []);
  await stop();
});

test("two windows see each other, and what is being typed stays", async () => {
  const { url, pn, create, stop } = await project();
  const id = create("shared");
  const [one, two] = [await open(`${url}/ui/board`), await open(`${url}/ui/board`)];
  await one.locator("#presence", { hasText: "Also here" }).waitFor();
  await two.locator("#new-title").fill("half typed");
  await card(one, id).dragTo(column(one, "in_progress"));
  await inColumn(two, id, "in_progress");
  assert.equal(await two.locator("#new-title").inputValue(), "half typed");
  // Both edit the title; the later one is warned, and both values are kept.
  await one.goto(`${url}/ui/issues/${id}`);
  await one.locator("#edit-texts > summary").click();
  await one.locator("#edit-texts [name=title]").fill("of the later one");
  pn("update", id, "--title", "of the first one");
  await one.locator("#edit-texts .stale").waitFor();
  assert.equal(await one.locator("#edit-texts [name=title]").inputValue(), "of the later one");
  await one.locator("#edit-texts button").click();
  await one.locator(".notice.conflict", { hasText: "of the first one" }).waitFor();
  assert.equal(pn("show", id).title, "of the later one");
  const [conflict] = pn("conflicts");
  assert.deepEqual([conflict.field, conflict.kept, conflict.other], ["title", "of the later one", "of the first one"]);
  await one.getByRole("button", { name: "Use the other" }).click();
  await eventually("the other value is taken", () => pn("show", id).title === "of the first one");
  await stop();
});

test("everything works without script", async () => {
  const { url, pn, create, stop } = await project();
  const [id, other] = [create("plain"), create("other")];
  const page = await open(`${url}/ui/board`, { javaScriptEnabled: false });
  await page.locator("#new-title").fill("by form");
  await page.getByRole("button", { name: "Add", exact: true }).click();
  await page.getByRole("link", { name: "by form" }).waitFor();
  await card(page, id).locator("summary").click();
  await card(page, id).getByRole("button", { name: "In progress" }).click();
  await inColumn(page, id, "in_progress");
  await page.goto(`${url}/ui/issues/${id}`);
  await page.locator(".fields [name=labels]").fill("auth, api");
  await page.locator(".fields [name=due]").fill("2030-01-02");
  await page.locator(".fields button").click();
  await page.locator(".label", { hasText: "api" }).waitFor();
  await page.getByLabel("New comment").fill("line one\nline two");
  await page.getByRole("button", { name: "Comment" }).click();
  await page.locator("article.comment").waitFor();
  await page.getByLabel("Issue to wait for").fill(other);
  await page.getByRole("button", { name: "Wait for it" }).click();
  await page.locator(".deps li").waitFor();
  const shown = pn("show", id);
  assert.deepEqual([shown.labels, shown.due, shown.deps[0].id], [["api", "auth"], "2030-01-02", other]);
  assert.equal(shown.comments[0].text, "line one\nline two");
  await page.getByLabel("Issue to wait for").fill("pn-00000000");
  await page.getByRole("button", { name: "Wait for it" }).click();
  await page.getByRole("alert").waitFor();
  await page.goto(`${url}/ui/list`);
  await page.getByLabel(`Select ${other}`).check();
  await page.locator("#bulk [name=step]").selectOption("close");
  await page.locator("#bulk button").click();
  await eventually("it is closed", () => pn("show", other).status === "closed");
  await stop();
});

const HOSTILE = `"><img src=x onerror=hacked()><script>hacked()</script>'\u202e${"W".repeat(300)}`;

test("hostile text runs nothing and breaks no layout, also at the width of a phone", async () => {
  const { url, pn, create, stop } = await project();
  const markdown = `[x](javascript:hacked()) ![y](http://evil.test/pixel.png) <script>hacked()</script>\n\n${HOSTILE}`;
  const id = create(HOSTILE.slice(0, 200), "-d", markdown, "-a", HOSTILE.slice(0, 60), "-l", "<b>bold</b>", "--accept", HOSTILE);
  pn("comment", "add", id, markdown);
  pn("update", id, "--title", HOSTILE.slice(0, 180));
  pn("view", "save", "mine", '"<script>"');
  const page = await open(`${url}/ui/board`, { viewport: { width: 390, height: 800 } });
  const foreign = [];
  page.on("request", (request) => request.url().startsWith(url) || foreign.push(request.url()));
  for (const path of ["board", "board?lanes=assignee", "board?lanes=label", `board?q=${encodeURIComponent(HOSTILE)}`, "list", `issues/${id}`]) {
    await page.goto(`${url}/ui/${path}`);
    await page.locator('#live[data-state="live"]').waitFor();
    const seen = await page.evaluate(() => ({
      width: document.documentElement.scrollWidth,
      scripts: [...document.scripts].every((script) => script.src.includes("/ui/assets/")),
      markup: document.querySelectorAll("#main img, #main script, #main b, [onerror], [style]").length,
      links: [...document.links].every((link) => /^https?:/.test(link.protocol)),
    }));
    assert.deepEqual(seen, { width: 390, scripts: true, markup: 0, links: true }, path);
  }
  assert.deepEqual([foreign, page.problems], [[], []]);
  await stop();
});

test("axe finds no serious fault", async () => {
  const { url, pn, create, stop } = await project();
  const id = create("accessible", "-l", "auth", "-a", "ana", "--due", "2030-01-01", "--accept", "done", "-d", "text");
  pn("comment", "add", id, "said");
  pn("view", "save", "mine", "label:auth");
  for (const colorScheme of ["light", "dark"]) {
    const page = await open(`${url}/ui/board`, { colorScheme });
    for (const path of ["ui/board", "ui/board?lanes=label", "ui/list", `ui/issues/${id}`, "login"]) {
      await page.goto(`${url}/${path}`);
      await page.evaluate(axe.source);
      const { violations } = await page.evaluate(() => window.axe.run());
      const serious = violations.filter(({ impact }) => ["serious", "critical"].includes(impact));
      const told = serious.map(({ id: rule, nodes }) => `${rule}: ${nodes.map((node) => node.html).join("\n")}`);
      assert.deepEqual(told, [], `${path} in ${colorScheme}`);
    }
  }
  await stop();
});

test("long columns load more when one scrolls", async () => {
  const { url, dir, stop } = await project();
  const lines = Array.from({ length: 180 }, (_, at) => JSON.stringify({ op: "issue.create", title: `number ${at} ${"text ".repeat(20)}`, issue_type: "task" }));
  execFileSync(PN, ["batch"], { cwd: dir, env: process.env, input: lines.join("\n") });
  const page = await open(`${url}/ui/board`);
  const cards = column(page, "open").locator(".card");
  assert.equal(await column(page, "open").locator(".count").textContent(), "180");
  await eventually("all cards", async () => {
    await page.mouse.wheel(0, 20_000);
    return (await cards.count()) === 180;
  });
  execFileSync(PN, ["create", "one more", "-t", "task", "-p", "p0"], { cwd: dir, env: process.env });
  await page.getByRole("link", { name: "one more" }).waitFor();
  assert.ok((await cards.count()) >= 180, "what was loaded stays");
  await stop();
});

test("pages reconnect after a restart, and show what happened meanwhile", async () => {
  const { dir, create, url, stop } = await project();
  const port = new URL(url).port;
  const page = await open(`${url}/ui/board`);
  await page.locator('#live[data-state="live"]').waitFor();
  await stop();
  await page.locator("#live", { hasText: "Not connected" }).waitFor();
  const id = create("while it was away");
  const again = await serve(dir, ["web", "--no-open", "--port", port]);
  await card(page, id).waitFor();
  await page.locator('#live[data-state="live"]').waitFor();
  await again.stop();
});

test("other origins and other names of this machine get nothing", async () => {
  const { url, pn, create, stop } = await project();
  const id = create("mine");
  const target = `${url}/ui/move`;
  const evil = createServer((_, answer) => {
    answer.setHeader("content-type", "text/html");
    answer.end(`<form id=f method=post action="${target}"><input name=move value="${id} closed"></form><script>f.submit()</script>`);
  });
  await new Promise((ready) => { evil.listen(0, "127.0.0.1", ready); });
  const page = await open("about:blank");
  for (const host of ["127.0.0.1", "evil.test"]) {
    const refused = page.waitForResponse((answer) => answer.url() === target);
    await page.goto(`http://${host}:${evil.address().port}/`);
    assert.equal((await refused).status(), 403, host);
  }
  const rebound = await page.goto(`http://evil.test:${new URL(url).port}/ui/board`);
  assert.equal(rebound.status(), 403);
  assert.equal(pn("show", id).status, "open");
  evil.close();
  await stop();
});

test("people log in to a server with a token, until they log out or it is revoked", async () => {
  const dir = `${WORK}/team`;
  mkdirSync(dir);
  const at = ["--data-dir", `${dir}/data`];
  run(dir, ["project", "create", "web", ...at]);
  const token = (role) => JSON.parse(run(dir, ["token", "create", "--project", "web", "--role", role, ...at]));
  const [agent, viewer] = [token("agent"), token("viewer")];
  let server = await serve(dir, ["serve", "--listen", "127.0.0.1:0", "--rate", "0", ...at]);
  const listen = new URL(server.url).host;
  const page = await open(`${server.url}/p/web/ui/board`);
  const logIn = async (secret, name) => {
    await page.locator("[name=token]").fill(secret);
    await page.locator("[name=name]").fill(name);
    await page.getByRole("button", { name: "Log in" }).click();
  };
  await logIn("pensa_wrong", "ana");
  await page.getByRole("alert").waitFor();
  await logIn(agent.token, "ana");
  await page.waitForURL("**/p/web/ui/board");
  await page.locator("#new-title").fill("by ana");
  await page.getByRole("button", { name: "Add", exact: true }).click();
  await page.getByRole("link", { name: "by ana" }).waitFor();
  const [cookie] = await page.context().cookies();
  assert.deepEqual([cookie.httpOnly, cookie.sameSite], [true, "Strict"]);
  assert.ok(!cookie.value.includes(agent.token) && !agent.token.includes(cookie.value));
  // The session survives a restart of the server, and its pages find back.
  await server.stop();
  await page.locator("#live", { hasText: "Not connected" }).waitFor();
  server = await serve(dir, ["serve", "--listen", listen, "--rate", "0", ...at]);
  await page.locator('#live[data-state="live"]').waitFor();
  run(dir, ["token", "revoke", agent.id, ...at]);
  await page.locator("[name=token]").waitFor();
  await logIn(viewer.token, "");
  await page.getByRole("link", { name: "by ana" }).waitFor();
  assert.equal(await page.locator("#main form[method=post], #main button:not(.filter button)").count(), 0);
  await page.getByRole("button", { name: "Log out" }).click();
  await page.waitForURL("**/login");
  await page.context().addCookies([{ ...cookie }]);
  assert.equal((await page.goto(`${server.url}/p/web/ui/board`)).status(), 401);
  await server.stop();
});
