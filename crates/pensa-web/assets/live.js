"use strict";
// Follows the event stream of a project. Runs in a shared worker, so that any number of open pages need one connection:
// a browser allows six to a server. Where there are no shared workers, each page runs it itself.

const pensaFollow = (root, after, tell) => {
  let last = after;
  let source = null;
  let delay = 500;
  const open = () => {
    source = new EventSource(`${root}/ui/events?after=${last}`);
    source.onopen = () => { delay = 500; tell({ kind: "open", last }); };
    source.onmessage = (event) => {
      last = Number(event.lastEventId) || last;
      tell({ kind: "event", last });
    };
    source.addEventListener("presence", (event) => tell({ kind: "presence", others: JSON.parse(event.data) }));
    // The log was replaced: what was followed is not there any more.
    source.addEventListener("dropped", () => { last = 0; tell({ kind: "replaced", last }); });
    source.onerror = () => {
      tell({ kind: "lost", last });
      if (source.readyState !== EventSource.CLOSED) return;
      // The server refused: the browser does not try again by itself.
      setTimeout(open, delay);
      delay = Math.min(delay * 2, 8000);
    };
  };
  open();
  return () => last;
};

if (typeof SharedWorkerGlobalScope !== "undefined" && self instanceof SharedWorkerGlobalScope) {
  const follows = new Map();
  self.onconnect = (connection) => {
    const port = connection.ports[0];
    port.onmessage = ({ data }) => {
      let known = follows.get(data.root);
      if (!known) {
        known = { ports: new Set(), state: [] };
        follows.set(data.root, known);
        const tell = (message) => {
          known.state = [...known.state.filter((old) => (old.kind === "presence") !== (message.kind === "presence")), message];
          known.ports.forEach((one) => one.postMessage(message));
        };
        pensaFollow(data.root, data.after, tell);
      }
      known.ports.add(port);
      known.state.forEach((message) => port.postMessage(message));
    };
  };
}
