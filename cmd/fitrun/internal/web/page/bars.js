// The chart of how each rank spends its time: above computing and waiting, below the communication in flight, hidden or not.

import { label, longest, model, nameOf } from "./model.js";
import { colour, prepare, setText, step } from "./draw.js";
import { percent } from "./format.js";

const canvas = document.getElementById("bars");
const box = document.getElementById("bars-box");
const out = document.getElementById("bars-out");
const left = 46;
const timeHeight = 110;
const gap = 14;
const flightHeight = 60;
const bottom = 20;

let at = -1; // the rank that is pointed at, -1 for none
let period = "total";
let choose = () => {};

const right = (n) => 4 + 4 * longest(n, 1); // half of the last label, at most, is beyond its bar
const barWidth = (n) => Math.max(3, Math.min(48, Math.floor((box.clientWidth - left - right(n)) / Math.max(1, n))));

// onChoose is told which rank is pointed at.
export function onChoose(f) {
  choose = f;
}

export function drawBars(which) {
  period = which;
  const n = model.ranks.length;
  const w = barWidth(n);
  const g = prepare(canvas, Math.max(left + n * w + right(n), 200), timeHeight + gap + flightHeight + bottom + 4);
  const ink = { computing: colour("computing"), waiting: colour("waiting"), hidden: colour("hidden"), exposed: colour("exposed"), soft: colour("soft"), failed: colour("failed"), card: colour("card"), line: colour("line"), text: colour("text") };
  axis(g, 2, timeHeight, n * w, ink);
  axis(g, timeHeight + gap, flightHeight, n * w, ink);
  const hatch = hatched(g, ink);
  for (let r = 0; r < n; r++) bar(g, model.ranks[r], left + r * w, w, ink, hatch);
  for (let r = 0; r < n; r++) if (model.ranks[r].state === "failed") cross(g, left + (r + 0.5) * w, Math.min(7, Math.max(4, w / 3)), ink);
  labels(g, n, w, ink);
  tell();
}

function axis(g, top, height, width, ink) {
  g.fillStyle = ink.soft;
  g.textAlign = "right";
  g.textBaseline = "middle";
  g.strokeStyle = ink.line;
  for (const part of [0, 0.5, 1]) {
    const y = Math.round(top + height * (1 - part)) + 0.5;
    g.fillText(`${part * 100} %`, left - 6, Math.min(Math.max(y, top + 6), top + height - 2));
    g.beginPath();
    g.moveTo(left - 3, y);
    g.lineTo(left + width, y);
    g.stroke();
  }
}

// hatched is the pattern of waiting, which so differs from computing by more than its colour.
function hatched(g, ink) {
  const tile = document.createElement("canvas");
  tile.width = tile.height = 8;
  const t = tile.getContext("2d");
  t.fillStyle = ink.waiting;
  t.fillRect(0, 0, 8, 8);
  t.strokeStyle = ink.card;
  t.lineWidth = 1.5;
  for (const x of [-8, 0, 8]) {
    t.beginPath();
    t.moveTo(x, 8);
    t.lineTo(x + 8, 0);
    t.stroke();
  }
  return g.createPattern(tile, "repeat");
}

function bar(g, r, x, w, ink, hatch) {
  const wide = w > 5 ? w - Math.min(6, Math.round(w / 5)) : w - (w > 3 ? 1 : 0);
  const p = r.known ? r[period] : null;
  if (p && p.time > 0) {
    const wait = Math.min(1, p.waited / p.time) * timeHeight;
    g.fillStyle = ink.computing;
    g.fillRect(x, 2 + wait, wide, timeHeight - wait);
    g.fillStyle = w > 5 ? hatch : ink.waiting;
    g.fillRect(x, 2, wide, wait);
  }
  const top = timeHeight + gap;
  if (p && p.flight > 0) {
    const hidden = Math.min(1, p.hidden / p.flight) * flightHeight;
    g.fillStyle = ink.exposed;
    g.fillRect(x, top, wide, flightHeight - hidden);
    g.fillStyle = ink.hidden;
    g.fillRect(x, top + flightHeight - hidden, wide, hidden);
  }
  if (r.r === at) {
    g.strokeStyle = ink.text;
    g.lineWidth = 2;
    g.strokeRect(x - 1, 1, wide + 2, top + flightHeight);
    g.lineWidth = 1;
  }
}

// cross marks a rank that failed, over whatever its bar shows.
function cross(g, x, size, ink) {
  g.fillStyle = ink.card;
  g.fillRect(x - size - 2, 12 - size - 2, 2 * size + 4, 2 * size + 4);
  g.strokeStyle = ink.failed;
  g.lineWidth = 2.5;
  g.beginPath();
  g.moveTo(x - size, 12 - size);
  g.lineTo(x + size, 12 + size);
  g.moveTo(x + size, 12 - size);
  g.lineTo(x - size, 12 + size);
  g.stroke();
  g.lineWidth = 1;
}

function labels(g, n, w, ink) {
  g.fillStyle = ink.soft;
  g.textAlign = "center";
  g.textBaseline = "top";
  const every = step(w, 12 + 7 * longest(n, 1));
  for (let r = 0; r < n; r += every) g.fillText(label(r), left + r * w + w / 2 - 1, timeHeight + gap + flightHeight + 6);
}

function tell() {
  const r = model.ranks[at];
  if (!r || r.state === "") return;
  const p = r.known ? r[period] : null;
  setText(out, `${nameOf(r).replace("r", "R")}: ` + (p && p.time > 0
    ? `${percent(p.time - p.waited, p.time)} computing, ${percent(p.waited, p.time)} waiting; ` +
      (p.flight > 0 ? `${percent(p.hidden, p.flight)} of its communication hidden` : "no communication in flight")
    : "no figures yet") + ` (${r.state})`);
}

function point(r) {
  const n = model.ranks.length;
  if (n === 0 || r === at) return;
  at = Math.max(0, Math.min(n - 1, r));
  drawBars(period);
}

canvas.addEventListener("pointermove", (e) => {
  const r = Math.floor((e.offsetX - left) / barWidth(model.ranks.length));
  if (r >= 0 && r < model.ranks.length) point(r);
});
canvas.addEventListener("click", () => at >= 0 && choose(at));
canvas.addEventListener("keydown", (e) => {
  const last = model.ranks.length - 1;
  const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: last }[e.key];
  if (e.key === "Enter" && at >= 0) choose(at);
  if (to === undefined || e.altKey || e.ctrlKey || e.metaKey) return;
  e.preventDefault();
  point(to);
  const w = barWidth(model.ranks.length);
  box.scrollLeft = Math.min(box.scrollLeft, at * w) || box.scrollLeft;
  if (left + (at + 1) * w > box.scrollLeft + box.clientWidth) box.scrollLeft = left + (at + 1) * w - box.clientWidth;
});
