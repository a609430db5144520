"use strict";
// Zooms and pans the graph. Without it the graph is a drawing that scrolls.

(() => {
  const LEAST = 0.1;
  const MOST = 4;
  let zoom = 1;

  const canvas = () => document.querySelector(".graph .canvas");
  // On the root element, because the page around the drawing is replaced when the project changes.
  const draw = () => document.documentElement.style.setProperty("--graph-zoom", String(zoom));

  /// Zooms so that the point under `x`, `y` stays where it is.
  const zoomTo = (wanted, x, y) => {
    const box = canvas();
    const next = Math.min(MOST, Math.max(LEAST, wanted));
    const [left, top] = [(box.scrollLeft + x) / zoom, (box.scrollTop + y) / zoom];
    zoom = next;
    draw();
    box.scrollTo(left * zoom - x, top * zoom - y);
  };
  const zoomBy = (factor) => zoomTo(zoom * factor, canvas().clientWidth / 2, canvas().clientHeight / 2);
  const fit = () => {
    const svg = canvas().querySelector("svg");
    const [wide, high] = [svg.viewBox.baseVal.width, svg.viewBox.baseVal.height];
    zoomTo(Math.min(canvas().clientWidth / wide, Math.max(canvas().clientHeight, 240) / high, 1), 0, 0);
  };
  const actions = { in: () => zoomBy(1.25), out: () => zoomBy(0.8), fit };

  document.addEventListener("click", (event) => actions[event.target.closest?.("[data-zoom]")?.dataset.zoom]?.());
  document.addEventListener("keydown", (event) => {
    if (!canvas() || !event.target.closest?.(".graph") || event.ctrlKey || event.metaKey || event.altKey) return;
    const action = { "+": actions.in, "=": actions.in, "-": actions.out, "0": fit }[event.key];
    if (action) { event.preventDefault(); action(); }
  });
  document.addEventListener("wheel", (event) => {
    if (!event.ctrlKey || !event.target.closest?.(".graph .canvas")) return;
    event.preventDefault();
    const box = canvas().getBoundingClientRect();
    zoomTo(zoom * Math.exp(-event.deltaY / 400), event.clientX - box.left, event.clientY - box.top);
  }, { passive: false });

  let from = null;
  document.addEventListener("pointerdown", (event) => {
    const box = event.target.closest?.(".graph .canvas");
    if (!box || event.button !== 0 || event.pointerType !== "mouse") return;
    from = { box, x: event.clientX, y: event.clientY, left: box.scrollLeft, top: box.scrollTop, moved: false };
  });
  document.addEventListener("pointermove", (event) => {
    if (!from) return;
    const [x, y] = [event.clientX - from.x, event.clientY - from.y];
    from.moved ||= Math.abs(x) + Math.abs(y) > 4;
    if (from.moved) from.box.scrollTo(from.left - x, from.top - y);
  });
  document.addEventListener("pointerup", () => { setTimeout(() => { from = null; }, 0); });
  // The end of a drag over a box is not a click on it; nor is its link dragged away.
  document.addEventListener("click", (event) => { if (from?.moved) event.preventDefault(); }, true);
  document.addEventListener("dragstart", (event) => { if (event.target.closest?.(".graph .canvas")) event.preventDefault(); });

  document.documentElement.dataset.script = "";
})();
