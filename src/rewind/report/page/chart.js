// Lines with intervals as SVG. Nothing here knows what is drawn.
"use strict";

const SVG = "http://www.w3.org/2000/svg";
const COLOURS = 8, DASHES = ["", "7 4", "2 3"];

function svg(name, attributes, ...children) {
  const node = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

// One look for each method, the same in every chart.
function look(place) {
  return { stroke: `var(--series-${place % COLOURS})`, "stroke-dasharray": DASHES[Math.floor(place / COLOURS) % 3] };
}

function swatch(place) {
  const line = svg("line", { x1: 0, x2: 30, y1: 6, y2: 6, "stroke-width": 3, ...look(place) });
  return svg("svg", { viewBox: "0 0 30 12", "aria-hidden": "true" }, line);
}

// Round numbers that cover a range.
function ticks(low, high, about) {
  const rough = (high - low) / about;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((each) => each * power).find((each) => each >= rough);
  const found = [];
  for (let at = Math.ceil(low / step); at * step <= high + step / 1e6; at++) found.push(at * step);
  return found;
}

// Short enough for the margin, however large or small.
function short(value) {
  const round = +value.toPrecision(6), size = Math.abs(round);
  return size && (size >= 1e5 || size < 1e-4) ? round.toExponential().replace("+", "") : String(round);
}

function bounds(series) {
  const values = (...names) => series.flatMap((one) => names.flatMap((name) => one[name])).filter((v) => v !== null);
  const x = values("x"), y = values("y", "low", "high");
  const margin = (Math.max(...y) - Math.min(...y)) * 0.05 || 1;
  const first = Math.min(...x), last = Math.max(...x);
  return { x: [first < last ? first : 0, last], y: [Math.min(...y) - margin, Math.max(...y) + margin] };
}

// A path through the points that have a value.
function path(xs, ys) {
  const points = xs.map((x, i) => [x, ys[i]]).filter(([, y]) => y !== null);
  return points.map(([x, y]) => `${x.toFixed(1)},${y.toFixed(1)}`).join("L");
}

function draw(series, width, titles) {
  const height = Math.max(240, Math.min(420, width * 0.55));
  const frame = { left: 52, right: width - 20, top: 12, bottom: height - 42 };
  const range = bounds(series);
  const scale = ([low, high], from, to) => (value) => value === null ? null : from + (value - low) / (high - low || 1) * (to - from);
  const x = scale(range.x, frame.left, frame.right), y = scale(range.y, frame.bottom, frame.top);
  const root = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", tabindex: 0, "aria-label": titles.label });
  const number = new Intl.NumberFormat("en", { notation: range.x[1] >= 1e4 ? "compact" : "standard" });
  for (const at of ticks(...range.y, 6)) {
    root.append(svg("line", { class: "grid", x1: frame.left, x2: frame.right, y1: y(at), y2: y(at) }));
    root.append(svg("text", { x: frame.left - 8, y: y(at) + 4, "text-anchor": "end" }, short(at)));
  }
  for (const at of ticks(...range.x, width < 500 ? 4 : 8))
    root.append(svg("text", { x: x(at), y: frame.bottom + 18, "text-anchor": "middle" }, number.format(at)));
  root.append(svg("line", { class: "axis", x1: frame.left, x2: frame.right, y1: frame.bottom, y2: frame.bottom }));
  root.append(svg("text", { x: (frame.left + frame.right) / 2, y: height - 6, "text-anchor": "middle" }, titles.x));
  root.append(svg("text", { x: -(frame.top + frame.bottom) / 2, y: 13, "text-anchor": "middle", transform: "rotate(-90)" }, titles.y));
  for (const one of series) {
    const xs = one.x.map(x), { stroke } = look(one.place);
    if (one.low.some((value) => value !== null)) {
      const around = path([...xs, ...[...xs].reverse()], [...one.high.map(y), ...one.low.map(y).reverse()]);
      root.append(svg("path", { class: "band", d: `M${around}Z`, fill: stroke }));
    }
  }
  for (const one of series) {
    root.append(svg("path", { class: "series", "data-method": one.label, d: `M${path(one.x.map(x), one.y.map(y))}`, ...look(one.place) }));
    if (one.x.length === 1) // no line to see
      root.append(svg("circle", { class: "alone", cx: x(one.x[0]), cy: y(one.y[0]), r: 4, fill: look(one.place).stroke }));
  }
  const cursor = svg("line", { class: "cursor", y1: frame.top, y2: frame.bottom, visibility: "hidden" });
  root.append(cursor);
  return { root, cursor, x, invert: (px) => range.x[0] + (px - frame.left) / (frame.right - frame.left) * (range.x[1] - range.x[0]) };
}
