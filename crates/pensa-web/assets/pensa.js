"use strict";
// Makes the pages live and quick. Without it everything works by links and forms.

(() => {
  const byId = (id) => document.getElementById(id);
  const root = document.body.dataset.root ?? "";
  const isField = (element) => element?.matches?.("input:not([type=checkbox]):not([type=hidden]), textarea, select") ?? false;

  // ---- messages ----

  const say = (text, hint = "", isError = false) => {
    const notice = document.createElement("div");
    notice.className = isError ? "notice error" : "notice";
    notice.setAttribute("role", isError ? "alert" : "status");
    for (const [line, name] of [[text, ""], [hint, "hint"]]) {
      if (!line) continue;
      const paragraph = document.createElement("p");
      paragraph.textContent = line;
      paragraph.className = name;
      notice.append(paragraph);
    }
    byId("messages").replaceChildren(notice);
    if (!isError) setTimeout(() => notice.remove(), 6000);
  };

  // ---- patching: brings the page to what the server has, and keeps what is being typed, open or scrolled ----

  const isDirty = (form) => [...form.elements].some((field) => {
    if (field === document.activeElement && isField(field)) return true;
    if (field.type === "checkbox" || field.type === "radio") return field.checked !== field.defaultChecked;
    if (field.tagName === "SELECT") {
      const chosen = [...field.options].find((option) => option.defaultSelected) ?? field.options[0];
      return field.value !== (chosen?.value ?? "");
    }
    return field.type !== "hidden" && "defaultValue" in field && field.value !== field.defaultValue;
  });

  const keyOf = (node) => node.nodeType === 1 && (node.id || node.dataset.id || node.dataset.key ||
    (node.dataset.status && `${node.dataset.lane ?? ""}/${node.dataset.status}`));

  const valuesOf = (form) => [...form.querySelectorAll('input[name^="was."]')].map((field) => field.value).join("\0");

  const warnStale = (form, now) => {
    if (form.querySelector(":scope > .stale") || valuesOf(form) === valuesOf(now)) return;
    const note = document.createElement("p");
    note.className = "stale";
    note.setAttribute("role", "alert");
    note.textContent = "Somebody changed this while you were editing. If you save, both values are kept.";
    form.prepend(note);
  };

  const morph = (from, to) => {
    if (from.nodeType !== to.nodeType || from.nodeName !== to.nodeName) return from.replaceWith(to);
    if (from.nodeType !== 1) {
      if (from.data !== to.data) from.data = to.data;
      return undefined;
    }
    if (from.isEqualNode(to)) return undefined;
    if (from.tagName === "FORM" && isDirty(from)) return warnStale(from, to);
    if (isField(from) && from === document.activeElement) return undefined;
    for (const { name } of [...from.attributes]) {
      if (!to.hasAttribute(name) && name !== "open") from.removeAttribute(name);
    }
    for (const { name, value } of [...to.attributes]) {
      if (name !== "open" && from.getAttribute(name) !== value) from.setAttribute(name, value);
    }
    return morphChildren(from, to);
  };

  const morphChildren = (from, to) => {
    const keyed = new Map();
    for (const child of from.childNodes) if (keyOf(child)) keyed.set(keyOf(child), child);
    let next = from.firstChild;
    for (const wanted of [...to.childNodes]) {
      const key = keyOf(wanted);
      let match = key ? keyed.get(key) : null;
      if (!key) {
        while (next && keyOf(next)) {
          const known = next;
          next = next.nextSibling;
          if (![...to.childNodes].some((child) => keyOf(child) === keyOf(known))) known.remove();
        }
        match = next && next.nodeName === wanted.nodeName ? next : null;
      }
      if (!match) {
        from.insertBefore(wanted, next);
      } else {
        keyed.delete(key);
        if (match === next) next = next.nextSibling;
        else from.insertBefore(match, next);
        morph(match, wanted);
      }
    }
    while (next) {
      const gone = next;
      next = next.nextSibling;
      gone.remove();
    }
  };

  let number = Number(document.body.dataset.lastEvent);
  let wanted = number;
  let isFetching = false;
  let isAgain = false;
  let pause = 0;
  let missed = 0;

  /// The address of this page with as many cards as were loaded.
  const here = () => {
    const url = new URL(location.href);
    for (const column of document.querySelectorAll(".column[data-status][data-shown]")) {
      url.searchParams.set(column.dataset.status, column.dataset.shown);
    }
    url.hash = "";
    return url;
  };

  const refresh = async () => {
    if (isFetching) { isAgain = true; return; }
    isFetching = true;
    isAgain = false;
    const started = performance.now();
    let failures = missed + 1;
    try {
      const answer = await fetch(here(), { headers: { "Pensa-Script": "1" } });
      if (answer.status === 401) { location.reload(); return; }
      if (answer.status === 429 || answer.status >= 500) throw new Error("later");
      failures = 0;
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      const main = page.getElementById("main");
      if (main) {
        const focused = document.activeElement?.closest?.("[data-id]")?.dataset.id;
        morph(byId("main"), main);
        if (focused && document.activeElement === document.body) {
          document.querySelector(`[data-id="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
        }
        number = Number(page.body.dataset.lastEvent) || number;
        document.dispatchEvent(new CustomEvent("pensa:patched"));
      }
    } catch {
      isAgain = true;
    } finally {
      // A page that takes long to make is asked for less often, and one that cannot be had even less.
      missed = failures;
      pause = missed ? Math.min(500 * 2 ** missed, 15_000) : Math.min(4 * (performance.now() - started), 4000);
      isFetching = false;
      showState();
    }
    if (isAgain) soon();
  };

  let timer = 0;
  const soon = () => {
    if (timer) return;
    timer = setTimeout(() => { timer = 0; refresh(); }, Math.max(60, pause));
  };

  // ---- live ----

  let isConnected = true;
  const showState = () => {
    const live = byId("live");
    if (!live) return;
    const behind = Math.max(0, wanted - number);
    const text = !isConnected ? "Not connected: what you see may be out of date. Trying again …"
      : behind > 0 ? `Behind by ${behind} change${behind === 1 ? "" : "s"}` : "Live";
    if (live.textContent !== text) live.textContent = text;
    live.dataset.state = !isConnected ? "lost" : behind > 0 ? "behind" : "live";
  };

  const showPresence = (others) => {
    const names = [...new Set(others)].sort();
    byId("presence").textContent = names.length ? `Also here: ${names.join(", ")}` : "";
  };

  const hear = (message) => {
    if (message.kind === "presence") { showPresence(message.others); return; }
    if (message.kind !== "lost" && !isConnected) {
      clearTimeout(timer);
      timer = missed = pause = 0;
      refresh();
    }
    isConnected = message.kind !== "lost";
    if (message.kind === "replaced") { number = 0; wanted = 0; }
    wanted = Math.max(wanted, message.last);
    if (message.kind === "replaced" || wanted > number) soon();
    if (message.kind === "lost") fetch(here(), { method: "HEAD" }).then((answer) => answer.status === 401 && location.reload(), () => {});
    showState();
  };

  const follow = () => {
    const own = document.querySelector('script[src*="/live-"]');
    if (!own || !byId("live")) return;
    try {
      const worker = new SharedWorker(own.src, { name: "pensa" });
      worker.port.onmessage = ({ data }) => hear(data);
      worker.port.postMessage({ root, after: number });
    } catch {
      pensaFollow(root, number, hear);
    }
  };

  // ---- forms ----

  const send = async (action, fields) => {
    const body = new URLSearchParams(fields);
    const answer = await fetch(action, { method: "POST", body, headers: { "Pensa-Script": "1" } });
    if (answer.status === 401) { location.reload(); return null; }
    const result = await answer.json().catch(() => ({}));
    if (!answer.ok) say(result.error ?? `The server answered ${answer.status}`, result.hint, true);
    else if (result.warning) say(result.warning, "", true);
    else if (result.message) say(result.message);
    return answer.ok ? result : null;
  };

  document.addEventListener("submit", async (event) => {
    const form = event.target;
    if (form.method !== "post" || form.hasAttribute("data-plain") || form.matches(".login form, .logout")) return;
    event.preventDefault();
    const fields = new FormData(form, event.submitter);
    const cards = fields.get("move")?.split(" ");
    if (cards) { move(document.querySelector(`.card[data-id="${CSS.escape(cards[0])}"]`), cards[1]); return; }
    try {
      if (await send(form.action, fields)) {
        form.reset();
        form.querySelector(":scope > .stale")?.remove();
        if (document.activeElement && form.contains(document.activeElement)) {
          const isNew = form.matches(".quick");
          if (!isNew) document.activeElement.blur();
        }
        form.closest("details")?.removeAttribute("open");
        refresh();
      }
    } catch {
      say("The server cannot be reached; nothing was changed", "what you typed is still here: try again", true);
    }
  });

  // ---- board ----

  const STATUSES = ["open", "in_progress", "closed"];

  const move = async (card, status, lane) => {
    if (!card) return;
    const from = card.closest("[data-status]");
    const board = card.closest(".columns")?.parentElement;
    const isTarget = (column) => column.dataset.status === status && (lane === undefined || column.dataset.lane === lane);
    const columns = card.closest(".columns").querySelectorAll("[data-status]");
    const target = [...columns].find(isTarget) ?? [...board.querySelectorAll("[data-status]")].find(isTarget)
      ?? [...document.querySelectorAll(".column[data-status]")].find(isTarget);
    if (!target || target === from) return;
    const hasFocus = card.contains(document.activeElement);
    target.querySelector(".cards").prepend(card);
    if (hasFocus) card.focus();
    const fields = new FormData(byId("move"));
    fields.set("move", `${card.dataset.id} ${status}`);
    fields.set("from", from.dataset.status);
    if (lane !== undefined && lane !== from.dataset.lane) {
      fields.set("lanes", new URLSearchParams(location.search).get("lanes") ?? "");
      fields.set("from_lane", from.dataset.lane);
      fields.set("to_lane", lane);
    }
    try {
      await send(byId("move").action, fields);
    } catch {
      say("The server cannot be reached; nothing was moved", "", true);
    }
    refresh();
  };

  let dragged = null;
  document.addEventListener("dragstart", (event) => {
    dragged = event.target.closest?.(".card");
    if (!dragged) return;
    event.dataTransfer.effectAllowed = "move";
    event.dataTransfer.setData("text/plain", dragged.dataset.id);
    dragged.classList.add("dragged");
  });
  document.addEventListener("dragend", () => {
    dragged?.classList.remove("dragged");
    dragged = null;
    document.querySelectorAll(".over").forEach((column) => column.classList.remove("over"));
  });
  document.addEventListener("dragover", (event) => {
    const column = dragged && event.target.closest?.(".column[data-status]");
    document.querySelectorAll(".over").forEach((other) => other !== column && other.classList.remove("over"));
    if (!column) return;
    event.preventDefault();
    column.classList.add("over");
  });
  document.addEventListener("drop", (event) => {
    const column = dragged && event.target.closest?.(".column[data-status]");
    if (!column) return;
    event.preventDefault();
    move(dragged, column.dataset.status, column.dataset.lane);
  });

  const near = (card, key) => {
    const cards = [...card.closest(".cards").children];
    const at = cards.indexOf(card);
    if (key === "ArrowDown" || key === "ArrowUp") return cards[at + (key === "ArrowDown" ? 1 : -1)];
    const columns = [...card.closest(".columns").querySelectorAll(".column")];
    const step = key === "ArrowRight" ? 1 : -1;
    for (let to = columns.indexOf(card.closest(".column")) + step; columns[to]; to += step) {
      const there = columns[to].querySelectorAll(".card");
      if (there.length) return there[Math.min(at, there.length - 1)];
    }
    return undefined;
  };

  const onCard = (event, card) => {
    const { key, shiftKey } = event;
    if (!key.startsWith("Arrow")) {
      if (key === "Enter" && event.target === card) card.querySelector("a").click();
      return;
    }
    if (!shiftKey) {
      const other = near(card, key);
      if (other) { event.preventDefault(); other.focus(); }
      return;
    }
    if (key !== "ArrowLeft" && key !== "ArrowRight" || !card.draggable) return;
    event.preventDefault();
    const column = card.closest("[data-status]");
    const to = STATUSES[STATUSES.indexOf(column.dataset.status) + (key === "ArrowRight" ? 1 : -1)];
    if (to) move(card, to, column.dataset.lane);
  };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey && event.key === "Enter" && isField(event.target)) { event.target.form?.requestSubmit(); return; }
    if (event.key === "Escape") {
      const details = event.target.closest?.("details[open]");
      if (details) { details.open = false; details.querySelector("summary").focus(); }
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || isField(event.target)) return;
    const card = event.target.closest?.(".card");
    if (card) onCard(event, card);
    if (event.defaultPrevented) return;
    const go = { "/": byId("query"), n: byId("new-title") }[event.key];
    if (go) { event.preventDefault(); go.focus(); }
    if (event.key === "e" && byId("edit-texts")) {
      event.preventDefault();
      byId("edit-texts").open = true;
      byId("edit-texts").querySelector("[name=title]").focus();
    }
  });

  // ---- more cards when one scrolls ----

  const loading = new WeakSet();
  const load = async (link) => {
    const column = link.closest(".column");
    if (!column || loading.has(link)) return;
    loading.add(link);
    const url = new URL(link.href);
    url.pathname += "/cards";
    url.searchParams.set("from", column.dataset.shown);
    try {
      const answer = await fetch(url);
      if (!answer.ok) return;
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      const cards = [...page.querySelectorAll(".card")];
      const known = new Set([...column.querySelectorAll(".card")].map((card) => card.dataset.id));
      column.querySelector(".cards").append(...cards.filter((card) => !known.has(card.dataset.id)));
      column.dataset.shown = Number(column.dataset.shown) + cards.length;
      const more = page.querySelector(".more");
      if (more) { link.replaceWith(more); scrolled.observe(more); } else link.remove();
    } catch {
      loading.delete(link);
    }
  };

  const scrolled = new IntersectionObserver((entries) => {
    entries.filter((entry) => entry.isIntersecting).forEach((entry) => load(entry.target));
  }, { rootMargin: "300px" });

  const watchMore = () => {
    if (document.querySelector(".lane")) return;
    document.querySelectorAll(".column .more").forEach((link) => scrolled.observe(link));
  };

  document.addEventListener("click", (event) => {
    const link = event.target.closest?.(".column .more");
    if (link && !document.querySelector(".lane")) { event.preventDefault(); load(link); }
  });

  document.addEventListener("change", (event) => {
    if (event.target.id === "all") {
      document.querySelectorAll('input[form="bulk"]').forEach((box) => { box.checked = event.target.checked; });
    }
    if (event.target.matches(".filter select")) event.target.form.requestSubmit();
  });

  document.addEventListener("pensa:patched", watchMore);
  watchMore();
  showState();
  follow();
})();
