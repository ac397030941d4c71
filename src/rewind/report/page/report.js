// The page's own part: selectors, what is read off a chart, colours, printing.

const page = JSON.parse(document.getElementById("data").textContent);

function node(name, properties, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

function told(value, digits) {
  return value === null ? "–" : digits === undefined ? String(+value.toPrecision(4)) : value.toFixed(digits);
}

function described(one, i, digits) {
  const range = one.low[i] === null ? "" : ` [${told(one.low[i], digits)}, ${told(one.high[i], digits)}]`;
  return `${one.label} ${told(one.y[i], digits)}${range}`;
}

// One chart with its selectors: data is {first: {agent: [series]}}, or whatever the second selector chooses for agent.
function panel(root) {
  const { name, x, digits } = root.dataset;
  const data = page[name];
  const part = (role) => root.querySelector(`[data-role="${role}"]`);
  const choose = part("first"), agent = part("agent"), methods = part("methods"), output = part("readout");
  const chosen = new Set(page.presets[0].methods);
  let chart = null, shown = [], at = null;
  if (!Object.keys(data).length) {
    root.replaceChildren(node("p", { className: "note" }, "There is nothing to draw yet."));
    return;
  }

  const here = () => data[choose.value]?.[agent.value] ?? [];

  function options(select, values) {
    const before = select.value;
    select.replaceChildren(...values.map((value) => node("option", { value }, page.names[value] ?? value)));
    if (values.includes(before)) select.value = before;
  }

  // A box for each method that has runs anywhere in this chart.
  function makeBoxes() {
    const series = Object.values(data).flatMap((agents) => Object.values(agents)).flat();
    const there = new Set(series.map((one) => one.label));
    page.methods.forEach((label, place) => {
      if (!there.has(label)) return;
      const box = node("input", { type: "checkbox", value: label });
      box.addEventListener("change", () => { chosen[box.checked ? "add" : "delete"](label); update(); });
      methods.append(node("label", {}, box, swatch(place), label));
    });
  }

  function setBoxes() {
    const there = new Set(here().map((one) => one.label));
    for (const box of methods.querySelectorAll("input")) {
      box.checked = chosen.has(box.value);
      box.disabled = !there.has(box.value);
    }
  }

  function legend() {
    const counted = (told, one) => `${told} (${one.runs} run${one.runs === 1 ? "" : "s"})`;
    const last = (one) => counted(described(one, one.y.length - 1, digits), one);
    part("legend").replaceChildren(...shown.map((one) => node("li", {}, swatch(one.place), node("span", {}, name === "profiles" ? counted(one.label, one) : last(one)))));
  }

  function numbers() {
    const steps = [...new Set(shown.flatMap((one) => one.x))].sort((a, b) => a - b);
    const head = node("tr", {}, ...[x, ...shown.map((one) => one.label)].map((text) => node("th", { scope: "col" }, text)));
    const rows = steps.map((step) => node("tr", {}, node("th", { scope: "row" }, step.toLocaleString("en")),
      ...shown.map((one) => node("td", {}, one.x.includes(step) ? described(one, one.x.indexOf(step), digits).slice(one.label.length + 1) : ""))));
    part("numbers").replaceChildren(node("thead", {}, head), node("tbody", {}, ...rows));
  }

  function read(value) {
    at = value;
    if (!chart || value === null) return;
    const near = (one) => one.x.reduce((best, v, i) => Math.abs(v - value) < Math.abs(one.x[best] - value) ? i : best, 0);
    const step = shown[0].x[near(shown[0])];
    chart.cursor.setAttribute("visibility", "visible");
    for (const end of ["x1", "x2"]) chart.cursor.setAttribute(end, chart.x(step));
    output.textContent = `${x} ${step.toLocaleString("en")}: ${shown.map((one) => described(one, near(one), digits)).join("; ")}`;
  }

  function move(event) {
    const box = chart.root.getBoundingClientRect();
    read(chart.invert((event.clientX - box.left) * chart.root.viewBox.baseVal.width / box.width));
  }

  function key(event) {
    const steps = shown[0].x, way = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!way) return;
    event.preventDefault();
    const now = at === null ? (way > 0 ? -1 : steps.length) : steps.findIndex((step) => step >= at - 1e-9);
    read(steps[Math.max(0, Math.min(steps.length - 1, now + way))]);
  }

  function redraw() {
    const width = Math.max(300, Math.round(part("chart").clientWidth));
    if (!shown.length) {
      chart = null;
      part("chart").replaceChildren(node("p", { className: "note" }, "Nothing is selected that has runs here."));
      return;
    }
    const y = root.dataset.y || choose.selectedOptions[0].textContent;
    const label = `${y} against ${x}: ${part("title").textContent}; ${shown.map((one) => one.label).join(", ")}`;
    const focused = chart !== null && document.activeElement === chart.root;
    chart = draw(shown, width, { label, x, y });
    chart.root.addEventListener("pointermove", move);
    chart.root.addEventListener("keydown", key);
    part("chart").replaceChildren(chart.root);
    if (focused) chart.root.focus({ preventScroll: true });  // a new size is no reason to lose one's place
    read(at);
  }

  function update() {
    shown = here().filter((one) => chosen.has(one.label)).map((one) => ({ ...one, place: page.methods.indexOf(one.label) }));
    shown.sort((one, other) => one.place - other.place);
    part("title").textContent = `${choose.selectedOptions[0].textContent}, ${agent.selectedOptions[0].textContent}`;
    at = null;
    output.textContent = "Point at the chart, or use its arrow keys, to read values.";
    setBoxes();
    legend();
    numbers();
    redraw();
  }

  function moved() {
    options(agent, Object.keys(data[choose.value] ?? {}));
    update();
  }

  for (const preset of page.presets) {
    const button = node("button", { type: "button" }, preset.name);
    button.addEventListener("click", () => { chosen.clear(); preset.methods.forEach((label) => chosen.add(label)); update(); });
    part("presets").append(button);
  }
  choose.addEventListener("change", moved);
  agent.addEventListener("change", update);
  makeBoxes();
  options(choose, Object.keys(data));
  moved();
  new ResizeObserver(() => chart && redraw()).observe(part("chart"));
}

document.querySelectorAll(".panel").forEach(panel);

// Colours: as the system says, or as chosen. Where a page from disk may not keep things, the choice lasts for the visit.
const THEMES = { auto: "◐ auto", light: "☀ light", dark: "☾ dark" };
function theme(name) {
  const button = document.getElementById("theme");
  if (name === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = name;
  button.textContent = THEMES[name];
  button.setAttribute("aria-label", `Colours: ${name === "auto" ? "automatic" : name}`);
  button.dataset.name = name;
  try { localStorage.setItem("theme", name); } catch { /* not kept */ }
}
let kept = "auto";
try { kept = localStorage.getItem("theme") ?? "auto"; } catch { /* nothing kept */ }
theme(kept in THEMES ? kept : "auto");
document.getElementById("theme").addEventListener("click", (event) => {
  const names = Object.keys(THEMES);
  theme(names[(names.indexOf(event.target.dataset.name) + 1) % names.length]);
});

// A table that goes on to the right says so. One behind a line has no size before it is opened.
const boxes = document.querySelectorAll(".scroll");
const mark = (box) => box.classList.toggle("more", box.scrollLeft + box.clientWidth < box.scrollWidth - 1);
const sizes = new ResizeObserver((entries) => entries.forEach((entry) => mark(entry.target)));
boxes.forEach((box) => { sizes.observe(box); box.addEventListener("scroll", () => mark(box)); });

// On paper nothing can be opened.
window.addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((each) => { each.open = true; }));
