// The table of the steps: a column a token, a group of rows a stage. Cells follow the state through x.numbers and x.parts.
import { el } from "./shared.js";
import { sum, written, typed, NOTHING } from "./attention-numbers.js";

export function table(x, captionId) {
  const columns = ["label", "query", ...x.labels.map(() => "token"), "sum"];
  const digits = Math.min(8, Math.max(4, ...x.given.map((given) => typed(given).length)));
  return el(
    "table",
    { class: "bb-as-table", "aria-labelledby": captionId, style: `--tokens: ${x.size}; --digits: ${digits}` },
    el("colgroup", {}, ...columns.map((name) => el("col", { class: `bb-as-${name}` }))),
    el("thead", {}, row([blank(), head("col", "query"), ...x.labels.map((_, j) => token(x, j))])),
    ...[compare, divide, mask, softmax, mix].map((stage) => el("tbody", {}, ...stage(x))),
  );
}

// ---- the stages: each is a list of rows ----

function compare(x) {
  const entries = x.data.initial.query.map((_, i) => {
    const query = el("td", {}, box(x, `Query, entry ${i}`, "query", i));
    const products = x.labels.map((_, j) => {
      const key = box(x, `Key of ${x.named(j)}, entry ${i}`, "key", j, i);
      return product(x, 1, (r) => r.products[j][i], key);
    });
    return row([head("row", ...entry(i)), query, ...products]);
  });
  const scores = row([wide("score"), ...each(x, 1, (r) => r.scores, "bb-as-strong")]);
  scores.classList.add("bb-as-total");
  return [
    stage(x, "1 Compare", about("Multiply query and key entry by entry. The sum is the score.")),
    ...entries,
    scores,
  ];
}

function divide(x) {
  const label = `Divide by √${x.data.initial.query.length}`;
  const choice = tick(
    x,
    label,
    () => x.state.scaled,
    (scaled) => x.set({ scaled }),
  );
  choice.firstChild.setAttribute("role", "switch");
  const divisor = follow(x, (r) => (x.state.scaled ? `÷ ${written(r.divisor)}` : "not divided"));
  return [
    stage(x, "2 Divide", choice, about("Without it, long vectors give one key nearly everything.")),
    row([wide(divisor), ...each(x, 2, (r) => r.divided)]),
  ];
}

function mask(x) {
  const choices = x.labels.map((_, j) => {
    const label = el("span", { class: "bb-sr" }, `Look at ${x.named(j)}`);
    return el(
      "td",
      {},
      tick(
        x,
        label,
        () => x.state.mask[j],
        (on) => x.edit("mask", on, j),
      ),
    );
  });
  return [
    stage(x, "3 Mask", about("Untick a token, and its score becomes −∞.")),
    row([wide("look at"), ...choices]),
    row([wide("score"), ...each(x, 3, (r) => r.masked)]),
  ];
}

function softmax(x) {
  // The largest score is subtracted, which changes no weight and keeps exp from overflowing.
  const shift = ({ largest: s, total }) => (total > 0 ? ` ${s < 0 ? "+" : "−"} ${written(Math.abs(s))}` : "");
  const said = follow(x, (r) => (r.total > 0 ? "Take exp of each score, then divide by the sum." : NOTHING));
  const exps = [wide(follow(x, (r) => `exp(score${shift(r)})`)), ...each(x, 4, (r) => r.exps)];
  const weights = [wide("weight"), ...each(x, 4, (r) => r.weights, "bb-as-strong")];
  return [
    stage(x, "4 Softmax", about(said), head("col", "sum")),
    row(
      exps,
      number(x, 4, (r) => r.total),
    ),
    row(
      weights,
      number(x, 4, (r) => sum(r.weights)),
    ),
    el("tr", { "aria-hidden": "true" }, el("td", { colspan: 2 }), ...x.labels.map((_, j) => bar(x, j)), blank()),
  ];
}

function mix(x) {
  const entries = x.data.initial.value[0].map((_, i) => {
    const products = x.labels.map((_, j) => {
      const value = box(x, `Value of ${x.named(j)}, entry ${i}`, "value", j, i);
      return product(x, 5, (r) => r.mixed[j][i], value);
    });
    return row(
      [wide(...entry(i)), ...products],
      number(x, 5, (r) => r.output[i], "bb-as-strong"),
    );
  });
  return [
    stage(x, "5 Mix", about("Multiply each value by its weight. The sum is the output."), head("col", "output")),
    ...entries,
  ];
}

// ---- rows and cells ----

const head = (scope, ...content) => el("th", { scope }, ...content);
const wide = (...content) => el("th", { scope: "row", colspan: 2 }, ...content);
const blank = () => el("td");
const row = (cells, end = blank()) => el("tr", {}, ...cells, end);
const about = (content) => el("span", { class: "bb-as-about" }, content);
const entry = (i) => [el("span", { class: "bb-as-entry" }, "entry "), String(i)];

/** The row that opens a stage. A heading for the last column may end it. */
function stage(x, name, ...content) {
  const end = content.at(-1).tagName === "TH" ? content.pop() : null;
  const title = el("div", { class: "bb-as-stage" }, el("b", {}, name), ...content);
  const span = x.size + (end ? 2 : 3);
  return el("tr", { class: "bb-as-head" }, el("th", { scope: "rowgroup", colspan: span }, title), end);
}

function token(x, j) {
  const node = el("th", { scope: "col", title: x.labels[j] }, el("bdi", {}, x.named(j)));
  x.parts.push(() => node.classList.toggle("bb-as-hidden", !x.state.mask[j]));
  return node;
}

/** A text that follows the results. */
function follow(x, text) {
  const node = el("span");
  x.parts.push((results) => (node.textContent = text(results)));
  return node;
}

/** A cell for a number that stage `at` computes; `read` finds it among the results. */
function number(x, at, read, name = null, before = null) {
  const node = el("data");
  const cell = el("td", { class: name }, el("div", { class: "bb-as-cell" }, before, node));
  x.numbers.push({ node, cell, read, stage: at });
  return cell;
}

/** A cell for each token's number. */
const each = (x, at, read, name) => x.labels.map((_, j) => number(x, at, (r) => read(r)[j], name));

/** A cell for a product and, before it, the factor that can be changed. */
function product(x, at, read, factor) {
  const times = el("span", { class: "bb-as-times", "aria-hidden": "true" }, "×");
  return number(x, at, read, "bb-as-product", el("span", { class: "bb-as-factor" }, times, factor));
}

function bar(x, j) {
  const fill = el("span", { class: "bb-as-fill" });
  x.parts.push((r) => (fill.style.width = `${100 * r.weights[j]}%`));
  return el("td", {}, el("div", { class: "bb-as-track" }, fill));
}

function tick(x, label, read, write) {
  const input = el("input", { type: "checkbox", onchange: () => write(input.checked) });
  x.parts.push(() => (input.checked = read()));
  return el("label", { class: "bb-as-tick" }, input, label);
}

/** A box that holds the number at x.state[name][…place]. */
function box(x, label, name, ...place) {
  const { limit } = x.data;
  const read = () => place.reduce((values, i) => values[i], x.state[name]);
  const input = el("input", { type: "number", step: "any", min: -limit, max: limit, "aria-label": label });
  let shown; // the number that the text in the box stands for: what the reader types stays as typed
  const know = (value) => {
    shown = value;
    input.title = String(value);
    input.removeAttribute("aria-invalid");
  };
  const show = () => {
    know(read());
    input.value = typed(shown);
  };
  input.addEventListener("input", () => {
    const value = input.valueAsNumber;
    if (!(Math.abs(value) <= limit)) return input.setAttribute("aria-invalid", "true"); // NaN too
    know(value);
    x.edit(name, value, ...place);
  });
  input.addEventListener("change", () => {
    if (!input.hasAttribute("aria-invalid")) return;
    show();
    x.say(`Needed: a number from ${-limit} to ${limit}. Back to ${input.value}.`);
  });
  input.addEventListener("keydown", (event) => {
    const direction = { ArrowUp: 1, ArrowDown: -1 }[event.key];
    if (!direction || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    const moved = Number((read() + direction * x.step).toFixed(10));
    x.edit(name, Math.min(limit, Math.max(-limit, moved)), ...place);
  });
  x.parts.push(() => shown !== read() && show());
  return input;
}
