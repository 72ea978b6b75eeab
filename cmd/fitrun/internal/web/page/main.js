// The live page: takes updates from fitrun by server-sent events and shows them.

import { model, sum, take } from "./model.js";
import { drawBars, onChoose } from "./bars.js";
import { choosePair, drawMatrix } from "./matrix.js";
import { addEvents, drawSizes, marks, tables } from "./tables.js";
import { forgetColours, setText } from "./draw.js";
import { bytes, count, percent, plural, rate, time } from "./format.js";

const byId = (id) => document.getElementById(id);
const chosen = (name) => document.querySelector(`input[name="${name}"]:checked`).value;

const fewRanks = 12; // whose bars leave room beside them

let rank = -1; // whose row is marked
let paused = false;
let waiting = []; // events that came while the page was paused
let anew = false; // the list of events starts again
let due = false;

const drawTables = tables(choose);
onChoose(choose);

function choose(r) {
  rank = r;
  choosePair(Math.floor(r / model.job.group), Math.floor(Number(byId("to").value) / model.job.group));
  schedule();
}

// schedule draws at the next frame: however many updates have come by then, once.
function schedule() {
  if (due) return;
  due = true;
  requestAnimationFrame(() => {
    due = false;
    if (!model.job || paused) return;
    const period = chosen("period");
    byId("main").classList.toggle("few", model.ranks.length <= fewRanks);
    drawHead();
    drawTiles(period);
    drawBars(period);
    drawMatrix(period, chosen("unit"));
    drawTables(period, rank);
    drawSizes();
    addEvents(waiting, anew);
    waiting = [];
    anew = false;
  });
}

function drawHead() {
  const j = model.job;
  if (j.size === 0) return;
  setText(byId("program"), j.program + (j.more ? ` and ${j.more} more` : ""));
  const where = j.hosts.length === 1 ? `on ${j.hosts[0]}` : `on ${j.hosts.length} hosts`;
  setText(byId("about"), `${plural(j.size, "rank")} ${where}, ${time(j.elapsed)}`);
}

function drawTiles(period) {
  const s = sum(period);
  setText(byId("tile-waiting"), percent(s.waited, s.time));
  setText(byId("tile-hidden"), percent(s.hidden, s.flight));
  const last = period === "last";
  let sent = 0;
  let messages = 0;
  for (const r of model.ranks) {
    if (!r.known) continue;
    sent += last ? rate(r.last.sent, r.last.time) : r.total.sent;
    messages += last ? rate(r.last.messages, r.last.time) : r.total.messages;
  }
  setText(byId("tile-sent"), bytes(Math.round(sent)) + (last ? "/s" : ""));
  setText(byId("tile-messages"), count(messages) + (last ? "/s" : ""));
}

// say shows the state of the job and of this page, where screen readers read it aloud when it changes.
function say(mark, text, kind) {
  setText(byId("status-mark"), mark);
  setText(byId("status-text"), text);
  byId("status").className = kind ?? "";
  const j = model.job;
  document.title = j && j.size > 0 ? `${mark} ${j.program}: ${text}` : "fitrun";
}

function sayJob() {
  const j = model.job;
  byId("stuck").hidden = !j.stuck;
  setText(byId("stuck-text"), j.stuck ?? "");
  const over = j.phase === "over" || model.last;
  if (j.failure) say(marks.failed, `${over ? "The job has ended: " : ""}${j.failure}`, "failed");
  else if (over) say(marks.exited, j.phase === "over" ? "The job has ended; these are its last figures" : "fitrun has ended", "good");
  else if (j.stuck) say("⚠", "The job does not go on; the report says why", "failed");
  else if (paused) say("‖", "Paused; the job goes on");
  else say(j.phase === "running" ? "▸" : "…", j.phase === "running" ? "Running" : "Being prepared");
}

function follow() {
  const source = new EventSource("events");
  source.addEventListener("job", (e) => {
    const u = JSON.parse(e.data);
    const events = take(u);
    if (u.full) {
      anew = true;
      waiting = [];
    }
    waiting.push(...events);
    if (u.last) source.close();
    sayJob();
    schedule();
  });
  source.addEventListener("error", () => {
    if (model.last) return;
    say("⚠", source.readyState === EventSource.CLOSED ? "fitrun does not answer any more; reload the page to try again" : "The connection to fitrun was lost; trying again", "failed");
  });
}

for (const input of document.querySelectorAll('input[name="period"], input[name="unit"]')) input.addEventListener("change", schedule);
byId("filter").addEventListener("change", schedule);
byId("pause").addEventListener("click", (e) => {
  paused = !paused;
  e.currentTarget.ariaPressed = String(paused);
  if (model.job) sayJob();
  schedule();
});

// What the ranks wait for is asked on demand only: it costs them a moment.
byId("why").addEventListener("click", async (e) => {
  const button = e.currentTarget;
  const out = byId("why-out");
  button.disabled = true;
  setText(byId("why-note"), "Asking…");
  try {
    const answer = await fetch("explain", { method: "POST" });
    const text = await answer.text();
    out.hidden = !answer.ok;
    setText(out, text);
    setText(byId("why-note"), answer.ok ? `As of ${time(model.job?.elapsed ?? 0)}` : text);
  } catch {
    setText(byId("why-note"), "fitrun does not answer");
  }
  button.disabled = false;
});

const theme = byId("theme");
function setTheme(value) {
  if (value) document.documentElement.dataset.theme = value;
  else delete document.documentElement.dataset.theme;
  forgetColours();
  schedule();
}
try {
  theme.value = localStorage.getItem("fitrun-theme") ?? "";
} catch {
  // storage may be forbidden
}
setTheme(theme.value);
theme.addEventListener("change", () => {
  setTheme(theme.value);
  try {
    localStorage.setItem("fitrun-theme", theme.value);
  } catch {
    // then the choice lasts as long as the page
  }
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  forgetColours();
  schedule();
});
let width = 0;
new ResizeObserver(([{ contentRect }]) => {
  if (contentRect.width !== width) schedule();
  width = contentRect.width;
}).observe(document.body);
follow();
