"use strict";
// Finds as one types, and follows output that grows. Without it a button asks, and reloading the page shows more.

(() => {
  // ---- forms whose answer follows what is typed ----

  const waiting = new Map();
  let latest = 0;

  const find = async (form) => {
    const url = new URL(form.action);
    for (const [name, value] of new FormData(form)) if (value !== "") url.searchParams.set(name, value);
    const own = ++latest;
    const answer = await fetch(url, { headers: { "Pensa-Script": "1" } }).catch(() => null);
    if (!answer?.ok || own !== latest) return;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const found = page.getElementById(form.dataset.asTyped);
    if (!found || own !== latest) return;
    document.getElementById(form.dataset.asTyped)?.replaceWith(found);
    history.replaceState(null, "", url);
  };

  document.addEventListener("input", (event) => {
    const form = event.target.closest?.("form[data-as-typed]");
    if (!form) return;
    clearTimeout(waiting.get(form));
    waiting.set(form, setTimeout(() => find(form), 150));
  });

  // ---- output of a run ----

  /// Half a second while it grows, and longer while it does not.
  const follow = async () => {
    let pause = 500;
    for (;;) {
      await new Promise((done) => { setTimeout(done, pause); });
      const output = document.querySelector("pre[data-log]");
      if (!output) return;
      if (document.hidden) continue;
      const url = new URL(output.dataset.log, location.href);
      url.searchParams.set("offset", output.dataset.offset);
      const answer = await fetch(url).catch(() => null);
      if (!answer?.ok) { pause = Math.min(pause * 2, 8000); continue; }
      const text = await answer.text();
      const atEnd = output.scrollTop + output.clientHeight >= output.scrollHeight - 8;
      if (text) output.append(text);
      output.dataset.offset = answer.headers.get("Pensa-Offset") ?? output.dataset.offset;
      if (text && atEnd) output.scrollTop = output.scrollHeight;
      pause = text ? 500 : Math.min(pause * 1.5, 4000);
    }
  };
  if (document.querySelector("pre[data-log]")) {
    const output = document.querySelector("pre[data-log]");
    output.scrollTop = output.scrollHeight;
    follow();
  }
})();
