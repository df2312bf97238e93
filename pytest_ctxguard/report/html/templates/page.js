"use strict";
(() => {
  const tip = document.getElementById("tip");
  const MARK = "svg a, svg [role=graphics-symbol]";
  let shown = null;
  let pinned = false;

  function words(mark) {
    const place = (mark.getAttribute("href") || "").slice(1);
    const told = place && document.getElementById(place);
    if (!told) return mark.getAttribute("aria-label");
    const texts = [...told.querySelectorAll("p, dt, dd")];
    return texts.map((e) => e.textContent + (e.localName === "dt" ? ": " : "\n")).join("").trim();
  }

  function show(mark) {
    shown = mark;
    tip.textContent = words(mark);
    tip.hidden = false;
    place();
  }

  function place() {
    if (!shown) return;
    const at = shown.getBoundingClientRect();
    const left = Math.min(at.left, innerWidth - tip.offsetWidth - 8);
    const below = at.bottom + 4;
    const above = at.top - tip.offsetHeight - 4;
    tip.style.left = Math.max(8, left) + "px";
    tip.style.top = (below + tip.offsetHeight < innerHeight || above < 0 ? below : above) + "px";
  }

  function hide() {
    tip.hidden = true;
    shown = null;
    pinned = false;
  }

  // One mark of a chart is in the order of the Tab key; the arrow keys lead to the others.
  function lead(marks, to) {
    for (const mark of marks) mark.setAttribute("tabindex", "-1");
    to.setAttribute("tabindex", "0");
  }

  for (const chart of document.querySelectorAll("svg")) {
    const marks = [...chart.querySelectorAll(MARK)];
    if (!marks.length) continue;
    lead(marks, marks[0]);
    chart.addEventListener("keydown", (event) => {
      const now = marks.indexOf(event.target);
      const to = { ArrowRight: now + 1, ArrowLeft: now - 1, Home: 0, End: marks.length - 1 }[event.key];
      if (now < 0 || to === undefined) return;
      event.preventDefault();
      if (!marks[to]) return;
      lead(marks, marks[to]);
      marks[to].focus();
    });
  }

  document.addEventListener("pointerover", (event) => {
    const mark = event.target.closest(MARK);
    if (mark && !pinned) show(mark);
    else if (!mark && !pinned && !event.target.closest("#tip")) hide();
  });
  document.addEventListener("click", (event) => {
    const mark = event.target.closest(MARK);
    if (mark) {
      const told = document.getElementById((mark.getAttribute("href") || "").slice(1));
      if (told) told.closest("details").open = true;
      show(mark);
      pinned = !told;
    } else if (!event.target.closest("#tip")) hide();
  });
  document.addEventListener("focusin", (event) => {
    const mark = event.target.closest(MARK);
    if (mark) show(mark);
    else hide();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") hide();
  });
  addEventListener("scroll", place, true);
})();
