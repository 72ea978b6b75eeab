// What the page knows of the job: the updates that came, added up.

import { count } from "./format.js";

export const model = {
  job: null,
  states: {},
  ranks: [], // by place; those without a rank have no state
  n: 0, // rows of the matrix
  bytes: [], // of cells: row of the sender, column of the receiver
  messages: [],
  bytesLast: [], // of the last interval
  messagesLast: [],
  sizes: [],
  events: [], // the newest first
  last: false,
};

const keptEvents = 500;

// take adds an update. It returns the events that are new.
export function take(u) {
  const m = model;
  m.job = u.job;
  m.states = u.states;
  m.last = u.last === true;
  if (u.full) {
    m.n = u.job.group > 0 ? Math.ceil(u.job.places / u.job.group) : 0;
    m.ranks = [];
    m.events = [];
    m.sizes = [];
    for (const name of ["bytes", "messages", "bytesLast", "messagesLast"]) m[name] = new Float64Array(m.n * m.n);
  }
  for (const r of u.ranks ?? []) m.ranks[r.r] = r;
  m.bytesLast.fill(0);
  m.messagesLast.fill(0);
  const cells = u.cells ?? [];
  for (let i = 0; i < cells.length; i += 3) {
    const at = cells[i];
    m.bytes[at] += cells[i + 1];
    m.messages[at] += cells[i + 2];
    if (!u.full) {
      m.bytesLast[at] = cells[i + 1];
      m.messagesLast[at] = cells[i + 2];
    }
  }
  if (u.sizes) m.sizes = u.sizes;
  const events = u.events ?? [];
  m.events = [...events].reverse().concat(m.events).slice(0, keptEvents);
  return events;
}

// sum adds up what all ranks did in a period.
export function sum(period) {
  const s = { time: 0, waited: 0, flight: 0, hidden: 0, sent: 0, received: 0, messages: 0 };
  for (const r of model.ranks) if (r.known) for (const k in s) s[k] += r[period][k];
  return s;
}

// number is a rank as an axis shows it: its rank of the world, or behind the name of its job if that was spawned.
const number = (r) => (r.job ? `${r.job}:${count(r.rank)}` : count(r.rank));

// inList is a rank as a column of ranks shows it.
export const inList = (r) => (r.job ? `${count(r.rank)} of spawned ${r.job}` : count(r.rank));

// nameOf names a rank in words.
export const nameOf = (r) => (r.job ? `rank ${r.rank} of spawned ${r.job}` : `rank ${r.rank}`);

// label is the rank in a place as an axis shows it.
export function label(place) {
  const r = model.ranks[place];
  return r ? (r.state === "" ? "–" : number(r)) : String(place);
}

// longest is how many characters the longest of n labels of an axis has, each of so many ranks.
export function longest(n, group) {
  let most = String(n).length;
  for (let i = 0; i < n; i++) most = Math.max(most, label(i * group).length);
  return most;
}

// who names the ranks of a row of the matrix.
export function who(row) {
  const g = model.job.group;
  const last = Math.min(model.job.places, (row + 1) * g) - 1;
  const [a, b] = [model.ranks[row * g], model.ranks[last]];
  if (g === 1) return a && a.state !== "" ? nameOf(a) : a ? "no rank" : `rank ${row}`;
  if (a?.job || b?.job) return `ranks ${label(row * g)}–${label(last)}`;
  return `ranks ${row * g}–${last}`;
}
