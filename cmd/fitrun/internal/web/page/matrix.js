// The heat map of how much each rank sends to each, and the tables that say the same.

import { label, longest, model, who } from "./model.js";
import { colour, prepare, rgb, setText, step } from "./draw.js";
import { bytes, count, plural, short } from "./format.js";

const byId = (id) => document.getElementById(id);
const canvas = byId("matrix");
const box = byId("matrix-box");
const out = byId("matrix-out");
const from = byId("from");
const to = byId("to");
const small = document.createElement("canvas"); // one pixel per cell

let period = "total";
let unit = "bytes";
let shape = { left: 40, top: 40, cell: 10 };

const values = () => model[unit + (period === "last" ? "Last" : "")];
const show = (n) => (unit === "bytes" ? bytes(n) : count(n));

export function drawMatrix(whichPeriod, whichUnit) {
  period = whichPeriod;
  unit = whichUnit;
  const n = model.n;
  from.max = to.max = Math.max(0, model.job.places - 1);
  const v = values();
  let most = 0;
  for (const x of v) if (x > most) most = x;
  const heat = palette();
  const letters = longest(n, model.job.group);
  const margin = 26 + 8 * letters;
  const right = 2 + 4 * letters; // half of the last label, at most, is beyond its column
  const cell = Math.max(2, Math.min(64, Math.floor((Math.min(box.clientWidth, 860) - margin - right) / Math.max(1, n))));
  shape = { left: margin, top: 38, cell };
  const g = prepare(canvas, margin + n * cell + right, shape.top + n * cell + 2);
  if (n > 0) paint(g, n, v, most, heat);
  axes(g, n, letters);
  if (cell >= 34) numbers(g, n, v, most, heat);
  cursor(g);
  scale(heat, most);
  tell();
  pairs(v);
  if (byId("row").open) sends();
}

// palette is 256 colours from the theme's five.
function palette() {
  const stops = [0, 1, 2, 3, 4].map((i) => rgb(colour(`heat-${i}`)));
  return Array.from({ length: 256 }, (_, i) => {
    const x = (i / 255) * 4;
    const k = Math.min(3, Math.floor(x));
    return stops[k].map((c, j) => Math.round(c + (stops[k + 1][j] - c) * (x - k)));
  });
}

// place is where a value lies between nothing and the most, by its logarithm: few messages differ from none.
const place = (x, most) => (x <= 0 ? -1 : most <= 1 ? 255 : Math.max(0, Math.round((255 * Math.log1p(x)) / Math.log1p(most))));

function paint(g, n, v, most, heat) {
  small.width = small.height = n;
  const s = small.getContext("2d");
  const image = s.createImageData(n, n);
  const none = rgb(colour("back"));
  for (let i = 0, d = 0; i < n * n; i++, d += 4) {
    const p = place(v[i], most);
    const c = p < 0 ? none : heat[p];
    image.data[d] = c[0];
    image.data[d + 1] = c[1];
    image.data[d + 2] = c[2];
    image.data[d + 3] = 255;
  }
  s.putImageData(image, 0, 0);
  g.imageSmoothingEnabled = false;
  g.drawImage(small, shape.left, shape.top, n * shape.cell, n * shape.cell);
  g.strokeStyle = colour("line");
  g.lineWidth = 1;
  if (shape.cell >= 12) for (let i = 1; i < n; i++) lines(g, n, i);
  g.strokeRect(shape.left - 0.5, shape.top - 0.5, n * shape.cell + 1, n * shape.cell + 1);
  if (model.job.hosts.length > 1 && model.job.group === 1) borders(g, n);
}

function lines(g, n, i) {
  const { left, top, cell } = shape;
  g.beginPath();
  g.moveTo(left, top + i * cell + 0.5);
  g.lineTo(left + n * cell, top + i * cell + 0.5);
  g.moveTo(left + i * cell + 0.5, top);
  g.lineTo(left + i * cell + 0.5, top + n * cell);
  g.stroke();
}

// borders separates the ranks of different hosts.
function borders(g, n) {
  g.strokeStyle = colour("soft");
  g.globalAlpha = 0.4;
  for (let r = 1; r < n; r++) {
    if (model.ranks[r] && model.ranks[r - 1] && model.ranks[r].host !== model.ranks[r - 1].host) lines(g, n, r);
  }
  g.globalAlpha = 1;
}

function axes(g, n, letters) {
  const { left, top, cell } = shape;
  g.fillStyle = colour("soft");
  g.textBaseline = "alphabetic";
  g.textAlign = "left";
  g.fillText("receiver →", left, 12);
  g.textAlign = "right";
  const every = step(cell, 14 + 7 * letters);
  g.textBaseline = "middle";
  for (let i = 0; i < n; i += every) g.fillText(label(i * model.job.group), left - 5, top + i * cell + Math.max(cell / 2, 5));
  g.textAlign = "center";
  g.textBaseline = "alphabetic";
  for (let i = 0; i < n; i += every) g.fillText(label(i * model.job.group), left + i * cell + Math.max(cell / 2, 5), top - 6);
  g.save();
  g.translate(11, top);
  g.rotate(-Math.PI / 2);
  g.textAlign = "right";
  g.fillText("← sender", 0, 0);
  g.restore();
}

function numbers(g, n, v, most, heat) {
  g.textAlign = "center";
  g.textBaseline = "middle";
  for (let i = 0; i < n * n; i++) {
    const p = place(v[i], most);
    if (p < 0) continue;
    const [r, b, c] = heat[p];
    g.fillStyle = 0.299 * r + 0.587 * b + 0.114 * c > 140 ? "#10161f" : "#ffffff";
    g.fillText(short(v[i], unit === "bytes"), shape.left + ((i % n) + 0.5) * shape.cell, shape.top + (Math.floor(i / n) + 0.5) * shape.cell);
  }
}

const row = (input) => Math.floor((Number(input.value) || 0) / model.job.group);

function cursor(g) {
  const { left, top, cell } = shape;
  g.lineWidth = 2;
  g.strokeStyle = colour("card");
  g.strokeRect(left + row(to) * cell - 2, top + row(from) * cell - 2, cell + 4, cell + 4);
  g.strokeStyle = colour("failed");
  g.strokeRect(left + row(to) * cell - 1, top + row(from) * cell - 1, cell + 2, cell + 2);
  g.lineWidth = 1;
}

function scale(heat, most) {
  const g = prepare(byId("scale"), 120, 12);
  for (let x = 0; x < 120; x++) {
    g.fillStyle = `rgb(${heat[Math.round((x / 119) * 255)].join(",")})`;
    g.fillRect(x, 0, 1, 12);
  }
  setText(byId("scale-low"), most > 0 ? show(1) : "0");
  setText(byId("scale-high"), show(most));
}

function tell() {
  const i = row(from) * model.n + row(to);
  if (!(i < model.n * model.n)) return;
  const last = model.messagesLast[i];
  setText(out, `From ${who(row(from))} to ${who(row(to))}: ` +
    `${bytes(model.bytes[i])} in ${plural(model.messages[i], "message")} since the start, ` +
    (last > 0 ? `${bytes(model.bytesLast[i])} in ${count(last)} in the last interval.` : "none in the last interval."));
}

const shownPairs = 12;

function pairs(v) {
  const top = [];
  for (let i = 0; i < v.length; i++) {
    if (v[i] === 0 || (top.length === shownPairs && v[i] <= v[top[shownPairs - 1]])) continue;
    let k = top.length;
    while (k > 0 && v[top[k - 1]] < v[i]) k--;
    top.splice(k, 0, i);
    if (top.length > shownPairs) top.pop();
  }
  const b = model[period === "last" ? "bytesLast" : "bytes"];
  const m = model[period === "last" ? "messagesLast" : "messages"];
  fill(byId("pairs").tBodies[0], top.map((i) => [who(Math.floor(i / model.n)), who(i % model.n), bytes(b[i]), count(m[i])]), 2);
  setText(byId("pairs").caption, "Heaviest pairs by " + unit + (period === "last" ? ", last interval" : ", since the start"));
}

function sends() {
  const n = model.n;
  const first = row(from) * n;
  setText(byId("sends-c"), `What ${who(row(from))} sends, since the start`);
  fill(byId("sends").tBodies[0], Array.from({ length: n }, (_, k) => [who(k), bytes(model.bytes[first + k]), count(model.messages[first + k])]), 1);
}

// fill makes the rows of a table, of which the first so many columns are names.
export function fill(body, rows, names) {
  while (body.rows.length > rows.length) body.deleteRow(-1);
  rows.forEach((cells, i) => {
    const tr = body.rows[i] ?? body.insertRow();
    cells.forEach((text, k) => {
      let td = tr.cells[k];
      if (!td) {
        td = tr.appendChild(document.createElement(k === 0 ? "th" : "td"));
        if (k === 0) td.scope = "row";
        if (k < names) td.className = "text";
      }
      setText(td, text);
    });
  });
}

const redraw = () => model.job && drawMatrix(period, unit);

// choosePair moves the cursor, of rows of the matrix.
export function choosePair(sender, receiver) {
  if (!model.n) return;
  const keep = (k) => Math.max(0, Math.min(model.n - 1, k)) * model.job.group;
  from.value = keep(sender);
  to.value = keep(receiver);
  redraw();
}

const under = (e) => [Math.floor((e.offsetY - shape.top) / shape.cell), Math.floor((e.offsetX - shape.left) / shape.cell)];
canvas.addEventListener("pointermove", (e) => {
  const [r, c] = under(e);
  if (model.n && r >= 0 && c >= 0 && r < model.n && c < model.n && (r !== row(from) || c !== row(to))) choosePair(r, c);
});
canvas.addEventListener("keydown", (e) => {
  const by = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[e.key];
  if (!by || e.altKey || e.ctrlKey || e.metaKey) return;
  e.preventDefault();
  choosePair(row(from) + by[0], row(to) + by[1]);
});
from.addEventListener("input", redraw);
to.addEventListener("input", redraw);
byId("row").addEventListener("toggle", redraw);
