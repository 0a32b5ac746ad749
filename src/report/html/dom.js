// Elements and numbers. Text from models, tools and files becomes text nodes, never markup.

const SVG = "http://www.w3.org/2000/svg";

/** An element with properties and children; strings become text. */
function el(tag, props, ...children) {
  return fill(document.createElement(tag), props, children);
}

/** The same in SVG. */
function svg(tag, props, ...children) {
  return fill(document.createElementNS(SVG, tag), props, children);
}

function fill(node, props, children) {
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children.flat(Infinity)) {
    if (child !== null && child !== undefined) node.append(child);
  }
  return node;
}

/** The JSON in an element of this page; null when there is none. */
function embedded(id) {
  const node = document.getElementById(id);
  return node && JSON.parse(node.textContent);
}

const count = (n) => n.toLocaleString("en-US");

const plural = (n, noun) => `${count(n)} ${noun}${n === 1 ? "" : "s"}`;

/** US dollars as in the tables: three decimals, for small amounts three digits. */
function usd(amount) {
  if (amount === null) return "–";
  const size = Math.abs(amount);
  const places = size === 0 || size >= 0.1 ? 3 : Math.min(9, 2 - Math.floor(Math.log10(size)));
  return `$${amount.toFixed(places)}`;
}

/** An interval in [0, 1] with its estimate. */
function interval([estimate, lo, hi]) {
  if (estimate === null) return "";
  const percent = (x) => `${100 * Math.min(1, Math.max(0, x))}%`;
  const [from, to] = [lo ?? estimate, hi ?? estimate];
  return svg("svg", { class: "interval", width: "100%", height: 16, "aria-hidden": "true" },
    svg("line", { class: "scale", x1: 0, x2: "100%", y1: 8, y2: 8 }),
    svg("rect", { class: "range", x: percent(from), width: percent(to - from), y: 5.5, height: 5 }),
    svg("circle", { class: "point", cx: percent(estimate), cy: 8, r: 3.5 }));
}

/** A word with a mark of its colour. */
function word(text, kind = text) {
  return el("span", { class: "word" }, el("span", { class: `dot ${kind}` }), text);
}
