// Numbers for people.

const plain = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

export const count = (n) => plain.format(n);

// digits writes a number with three digits that count.
const digits = (n) => (n >= 100 || Number.isInteger(n) ? plain.format(n) : n.toPrecision(3));

export function bytes(n) {
  let u = 0;
  for (; n >= 1024 && u < units.length - 1; u++) n /= 1024;
  return `${u === 0 ? plain.format(n) : digits(n)} ${units[u]}`;
}

// short is for the cells of the heat map: at most four characters.
export function short(n, isBytes) {
  const step = isBytes ? 1024 : 1000;
  let u = 0;
  for (; n >= step; u++) n /= step;
  return (n < 9.95 && !Number.isInteger(n) ? n.toFixed(1) : Math.round(n)) + ["", "k", "M", "G", "T", "P", "E"][u];
}

export function percent(part, whole) {
  if (!(whole > 0)) return "–";
  const p = Math.round((100 * part) / whole);
  return p === 0 && part > 0 ? "<1 %" : `${p} %`;
}

export function time(ms) {
  const s = Math.max(0, Math.floor(ms / 1000));
  const two = (n) => String(n).padStart(2, "0");
  const h = Math.floor(s / 3600);
  return (h > 0 ? `${h}:${two(Math.floor(s / 60) % 60)}` : `${Math.floor(s / 60)}`) + `:${two(s % 60)}`;
}

export const rate = (n, ms) => (ms > 0 ? (n * 1000) / ms : 0);

export const plural = (n, what) => `${count(n)} ${what}${n === 1 ? "" : "s"}`;
