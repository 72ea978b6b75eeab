// The tables: ranks, queues, sizes, and the list of events.

import { inList, model } from "./model.js";
import { setText } from "./draw.js";
import { bytes, count, percent, rate, time } from "./format.js";

const byId = (id) => document.getElementById(id);

export const marks = {
  "not started": "○", starting: "◔", running: "▸", computing: "▸", waiting: "‖", idle: "◌", finalizing: "◕", exited: "✓", ended: "■", failed: "✕",
};

const known = (r, f) => (r.known ? f(r) : "–");
const part = (a, b) => (b > 0 ? Math.min(1, a / b) : -1);

// A column: its heading, the text of a cell, and what it is sorted by if not the text's number.
const rankColumns = [
  { head: "Rank", text: (r) => inList(r), by: (r) => r.r },
  { head: "State", text: stateText, by: (r) => r.state, state: true },
  { head: "Host", text: (r) => model.job.hosts[r.host], by: (r) => model.job.hosts[r.host], name: true },
  { head: "Cores", text: (r) => r.cores + (r.bound ? ` (${r.bound})` : ""), by: (r) => r.cores },
  { head: "Process", text: (r) => (r.pid ? String(r.pid) : "–"), by: (r) => r.pid ?? 0 },
  { head: "Waiting", text: (r, p) => known(r, () => percent(r[p].waited, r[p].time)), by: (r, p) => part(r[p].waited, r[p].time), meter: "waiting" },
  { head: "Hidden", text: (r, p) => known(r, () => percent(r[p].hidden, r[p].flight)), by: (r, p) => part(r[p].hidden, r[p].flight), meter: "hidden" },
  { head: "Sent", text: (r, p) => amount(r, p, "sent"), by: (r, p) => r[p].sent },
  { head: "Received", text: (r, p) => amount(r, p, "received"), by: (r, p) => r[p].received },
  { head: "Messages sent", text: (r, p) => known(r, () => (p === "last" ? `${count(rate(r.last.messages, r.last.time))}/s` : count(r.total.messages))), by: (r, p) => r[p].messages },
];

const queueColumns = [
  { head: "Rank", text: (r) => inList(r), by: (r) => r.r },
  { head: "Receives posted", title: "request queue: receives that wait for their message", text: (r) => known(r, () => count(r.queue.requests)), by: (r) => r.queue.requests },
  { head: "Messages unasked", title: "event queue: messages that have arrived and were not asked for", text: (r) => known(r, () => count(r.queue.events)), by: (r) => r.queue.events },
  { head: "Operations", title: "posted and not complete", text: (r) => known(r, () => count(r.queue.active)), by: (r) => r.queue.active },
  { head: "Rendezvous", title: "long messages under way", text: (r) => known(r, () => count(r.queue.rendezvous)), by: (r) => r.queue.rendezvous },
  { head: "Unsent", title: "bytes that no socket or ring has taken", text: (r) => known(r, () => bytes(r.queue.unsent)), by: (r) => r.queue.unsent },
  { head: "Send buffer", title: "library buffer in use", text: (r) => known(r, () => `${bytes(r.queue.used)} of ${bytes(r.queue.budget)}`), by: (r) => part(r.queue.used, r.queue.budget), meter: "computing" },
  { head: "Its most", text: (r) => known(r, () => bytes(r.queue.high)), by: (r) => r.queue.high },
];

function stateText(r) {
  let text = r.state;
  if (r.why) text += r.state === "failed" || r.state === "ended" ? `: ${r.why}` : ` in ${r.why}`;
  if (r.stale) text += `, no answer for ${Math.round(r.stale / 1000)} s`;
  return text;
}

const amount = (r, p, what) => known(r, () => (p === "last" ? `${bytes(rate(r.last[what], r.last.time))}/s` : bytes(r.total[what])));

// sorted is a table of ranks whose headings sort it.
function sorted(id, columns, choose) {
  const table = byId(id);
  const body = table.tBodies[0];
  const rows = []; // by rank
  let by = 0;
  let down = false;
  let redraw = () => {};
  columns.forEach((c, k) => {
    const th = document.createElement("th");
    th.scope = "col";
    if (c.state || c.name) th.className = c.state ? "text wrap" : "text";
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = c.head;
    if (c.title) button.title = c.title;
    button.addEventListener("click", () => {
      down = by === k ? !down : k > 4;
      by = k;
      redraw();
    });
    th.append(button);
    table.tHead.rows[0].append(th);
  });

  function make(r) {
    const tr = document.createElement("tr");
    columns.forEach((c, k) => {
      const td = document.createElement(k === 0 ? "th" : "td");
      if (k === 0) td.scope = "row";
      if (c.state || c.name) td.className = c.state ? "text wrap" : "text";
      const span = document.createElement("span");
      if (c.state) {
        const mark = document.createElement("span");
        mark.className = "mark";
        mark.ariaHidden = "true";
        td.append(mark);
      }
      td.append(span);
      if (c.meter) {
        const meter = document.createElement("span");
        meter.className = "meter";
        meter.ariaHidden = "true";
        const fill = document.createElement("span");
        fill.className = c.meter;
        meter.append(fill);
        td.append(meter);
      }
      tr.append(td);
    });
    tr.addEventListener("click", () => choose(r.r));
    return tr;
  }

  function write(tr, r, period) {
    columns.forEach((c, k) => {
      const td = tr.cells[k];
      if (c.state) {
        td.className = `text wrap state-${r.state.replace(" ", "-")}`;
        setText(td.firstChild, marks[r.state] ?? "·");
        setText(td.children[1], c.text(r, period));
        return;
      }
      setText(td.firstChild, c.text(r, period));
      if (c.meter) td.lastChild.firstChild.style.width = `${100 * Math.max(0, r.known ? c.by(r, period) : 0)}%`;
    });
    tr.classList.toggle("failed", r.state === "failed");
  }

  function order(shown, period) {
    const key = columns[by].by;
    const sign = down ? -1 : 1;
    return shown.sort((a, b) => {
      const x = key(a, period);
      const y = key(b, period);
      return x < y ? -sign : x > y ? sign : a.r - b.r;
    });
  }

  return function draw(period, shown, chosen) {
    redraw = () => draw(period, shown, chosen);
    [...table.tHead.rows[0].cells].forEach((th, k) => {
      if (k === by) th.ariaSort = down ? "descending" : "ascending";
      else th.removeAttribute("aria-sort");
    });
    order(shown, period).forEach((r, i) => {
      const tr = (rows[r.r] ??= make(r));
      write(tr, r, period);
      tr.classList.toggle("chosen", r.r === chosen);
      if (body.rows[i] !== tr) body.insertBefore(tr, body.rows[i] ?? null);
    });
    while (body.rows.length > shown.length) body.lastChild.remove();
  };
}

// tables makes the two tables of ranks; choose is told on which a row is clicked.
export function tables(choose) {
  const ranks = sorted("ranks", rankColumns, choose);
  const queues = sorted("queues", queueColumns, choose);
  const filter = byId("filter");
  return (period, chosen) => {
    states(filter);
    const shown = model.ranks.filter((r) => r.state !== "" && (filter.value === "" || r.state === filter.value));
    ranks(period, shown, chosen);
    const all = model.ranks.filter((r) => r.state !== "");
    queues(period, all, chosen);
    const left = model.job.size - all.length;
    setText(byId("ranks-note"), left > 0 ? `The first ${count(all.length)} of ${count(model.job.size)} ranks` : "");
  };
}

// states shows how many ranks are in which state, and offers those states to the filter.
function states(filter) {
  const names = Object.keys(marks).filter((s) => model.states[s] > 0);
  const list = byId("states");
  while (list.children.length > names.length) list.lastChild.remove();
  names.forEach((s, i) => {
    const li = list.children[i] ?? list.appendChild(document.createElement("li"));
    const text = `${marks[s]} ${model.states[s]} ${s}`;
    if (li.dataset.text === text) return;
    li.dataset.text = text;
    li.className = `state-${s.replace(" ", "-")}`;
    const mark = document.createElement("span");
    mark.className = "mark";
    mark.ariaHidden = "true";
    mark.textContent = marks[s];
    const n = document.createElement("b");
    n.textContent = count(model.states[s]);
    li.replaceChildren(mark, " ", n, ` ${s}`);
  });
  const want = ["", ...names];
  if (filter.value !== "" && !want.includes(filter.value)) want.push(filter.value);
  const have = [...filter.options].map((o) => o.value);
  if (want.join() === have.join()) return;
  const value = filter.value;
  filter.replaceChildren(...want.map((s) => new Option(s || "all states", s, false, s === value)));
}

// drawSizes shows the histogram: classes from the shortest to the longest message there was.
export function drawSizes() {
  const s = model.sizes;
  const rows = [];
  const all = s.reduce((a, b) => a + b, 0);
  if (s.length > 0 && s[s.length - 1] > 0) rows.push(["none", s[s.length - 1]]);
  let low = s.findIndex((n) => n > 0);
  let high = s.length - 2;
  while (high >= 0 && s[high] === 0) high--;
  for (let k = low; k >= 0 && k <= high; k++) rows.push([k === 0 ? "1 B" : `to ${bytes(4 ** k)}`, s[k]]);
  const body = byId("sizes").tBodies[0];
  while (body.rows.length > rows.length) body.deleteRow(-1);
  rows.forEach(([name, n], i) => {
    let tr = body.rows[i];
    if (!tr) {
      tr = body.insertRow();
      const th = tr.appendChild(document.createElement("th"));
      th.scope = "row";
      tr.insertCell();
      const td = tr.insertCell();
      td.className = "share";
      const meter = document.createElement("span");
      meter.className = "meter";
      meter.ariaHidden = "true";
      meter.append(document.createElement("span"));
      meter.firstChild.className = "computing";
      const said = document.createElement("span");
      td.append(meter, said);
    }
    setText(tr.cells[0], name);
    setText(tr.cells[1], count(n));
    tr.cells[2].firstChild.firstChild.style.width = `${(100 * n) / Math.max(1, all)}%`;
    setText(tr.cells[2].lastChild, percent(n, all));
  });
}

// addEvents puts new events on top of the list, or writes all of it anew.
export function addEvents(events, anew) {
  const list = byId("events");
  if (anew) list.replaceChildren();
  for (const e of events) {
    const li = document.createElement("li");
    const at = document.createElement("time");
    at.textContent = time(e.at);
    const who = document.createElement("span");
    who.className = "who";
    who.textContent = e.who;
    const what = document.createElement("span");
    what.className = "what";
    what.textContent = e.text;
    li.append(at, who, what);
    list.prepend(li);
  }
  while (list.children.length > model.events.length) list.lastChild.remove();
}
