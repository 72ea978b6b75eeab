// What the canvases share: sharp pixels, and colours from the style sheet, so that themes are in one place.

const probe = document.createElement("span");
probe.hidden = true;

const known = new Map(); // of the theme of now: to ask for a colour has the browser compute styles anew

// colour is what a custom property of the style sheet comes to in the theme of now.
export function colour(name) {
  let c = known.get(name);
  if (c === undefined) {
    if (!probe.isConnected) document.body.append(probe);
    probe.style.color = `var(--${name})`;
    c = getComputedStyle(probe).color;
    known.set(name, c);
  }
  return c;
}

// forgetColours is called when the theme has changed.
export const forgetColours = () => known.clear();

// rgb takes a colour as getComputedStyle writes it apart.
export const rgb = (text) => text.match(/[\d.]+/g).slice(0, 3).map(Number);

// prepare sets a canvas' size in CSS pixels and returns its context, cleared.
export function prepare(canvas, width, height) {
  const scale = window.devicePixelRatio || 1;
  const w = Math.max(1, Math.round(width * scale));
  const h = Math.max(1, Math.round(height * scale));
  if (canvas.width !== w || canvas.height !== h) {
    canvas.width = w;
    canvas.height = h;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
  }
  const g = canvas.getContext("2d");
  g.setTransform(scale, 0, 0, scale, 0, 0);
  g.clearRect(0, 0, width, height);
  g.font = "12px system-ui, sans-serif";
  return g;
}

// step is how many ranks lie between two labels of this size that are not to touch: a power of two.
export function step(room, size) {
  let s = 1;
  while (s * room < size) s *= 2;
  return s;
}

// setText writes only what has changed: screen readers and the layout notice every write.
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}
