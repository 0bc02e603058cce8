// Attention step by step: one query through score, division, mask, softmax and mix. Every number is in sight.
import { el, followTheme, fromAddress, addressWith, followAddress, renderLive } from "./shared.js";
import { saveButtons } from "./save.js";
// For the picture: Python joins what is imported here, not what that imports in turn.
import {} from "./picture-fit.js";
import { visible } from "./weights.js";
import { attention, written, decimalsOf, NOTHING } from "./attention-numbers.js";
import { table } from "./steps-table.js";
import { drawSteps } from "./steps-picture.js";

const STATE = ["query", "key", "value", "mask", "scaled"]; // the names of scaled_dot_product_attention, and the switch
const MARKED = 1600; // milliseconds for which a changed number stays marked
const HELP = "Type into a box, or change its number with ↑ and ↓. For a moment ▲ and ▼ mark what rose and what fell.";

class Steps {
  constructor(root, data, host) {
    Object.assign(this, { root, data, host, size: data.tokens.length });
    // Element ids must differ between all widgets of a page, also when each brings its own module.
    this.uid = `bb-as-${Math.random().toString(36).slice(2)}`;
    this.labels = data.tokens.map(visible);
    this.state = { ...data.initial, ...this.legal({ ...data.state, ...host.state }) };
    const linked = host.live ? null : this.linkedState();
    Object.assign(this.state, linked);
    this.numbers = []; // every computed number: { node, cell, read, stage, value }
    this.parts = []; // what else follows the state: functions of the results
    this.given = ["query", "key", "value"].flatMap((name) => data.initial[name].flat());
    this.step = this.given.every(Number.isInteger) ? 1 : 0.1; // of the arrow keys

    root.classList.add("bb-widget");
    const caption = el("p", { class: "bb-caption", id: `${this.uid}-caption` }, data.caption);
    this.spoken = el("p", { class: "bb-sr", "aria-live": "polite" });
    const scroll = el("div", { class: "bb-as-scroll" }, table(this, caption.id));
    this.frame = el("div", { class: "bb-as", role: "group", "aria-labelledby": caption.id }, caption, scroll);
    this.frame.setAttribute("data-lm-suppress-shortcuts", "true"); // or JupyterLab moves between cells on arrow keys
    this.frame.append(this.foot(), this.spoken);
    root.replaceChildren(this.frame);

    this.stopTheme = followTheme(root, () => {});
    // Nothing new about this widget: drawn all the same, for its link keeps what the address says about others.
    if (!host.live) this.stopAddress = followAddress(data.id, (news) => this.set((news && this.linkedState()) || {}));
    this.draw();
    if (linked) root.scrollIntoView();
  }

  destroy() {
    clearTimeout(this.timer);
    this.stopTheme();
    this.stopAddress?.();
    this.root.replaceChildren();
  }

  /** The given values, less those that are not of the kind and size of the widget's own. */
  legal(values) {
    const alike = (value, like) =>
      Array.isArray(like)
        ? Array.isArray(value) && value.length === like.length && like.every((item, i) => alike(value[i], item))
        : typeof value === typeof like && (typeof value === "boolean" || Math.abs(value) <= this.data.limit);
    const { initial } = this.data;
    const fits = ([name, value]) => name in initial && alike(value, initial[name]);
    return Object.fromEntries(Object.entries(values).filter(fits));
  }

  /** Take the state over from the reader or from Python, and tell everyone else. */
  set(values, { fromHost = false, say = "" } = {}) {
    const differs = ([name, value]) => JSON.stringify(value) !== JSON.stringify(this.state[name]);
    const changes = Object.fromEntries(Object.entries(this.legal(values)).filter(differs));
    const changed = Object.keys(changes).length > 0;
    if (fromHost && !changed) return; // the echo of what the reader did
    Object.assign(this.state, changes);
    this.draw();
    if (changed && !fromHost) this.host.onState?.(changes);
    if (changed || say) this.say(say + this.sentence());
  }

  /** Change the entry of query, key, value or mask that stands at that place. */
  edit(name, entry, ...place) {
    const copy = structuredClone(this.state[name]);
    const last = place.pop();
    place.reduce((values, i) => values[i], copy)[last] = entry;
    this.set({ [name]: copy });
  }

  say(text) {
    this.spoken.textContent = text;
  }

  draw() {
    const results = attention(this.state);
    this.results = results;
    const { products, scores, divided } = results;
    const decimals = { 1: decimalsOf([...products.flat(), ...scores]), 2: decimalsOf(divided), 3: decimalsOf(divided) };
    for (const number of this.numbers) {
      const { node, cell, read, stage, value: before } = number;
      const value = read(results);
      const text = written(value, decimals[stage] ?? 3);
      // What changed beyond the digits shown, as a sum of weights may, is not marked.
      if (before !== undefined && text !== node.textContent && value !== before) {
        cell.dataset.changed = value > before ? "up" : "down";
      }
      number.value = value;
      node.value = String(value);
      node.textContent = text;
    }
    for (const part of this.parts) part(results);
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.numbers.forEach(({ cell }) => delete cell.dataset.changed), MARKED);
  }

  /** What came out, for the ear. */
  sentence() {
    const { weights, output, total } = this.results;
    const shares = weights.map((w, j) => `${written(w)} for ${this.named(j)}`).join(", ");
    const mixed = output.map((x) => written(x)).join(", ");
    return `${total > 0 ? "" : `${NOTHING} `}Output ${mixed}. Weights ${shares}.`;
  }

  /** A token, with its position where it occurs more than once. */
  named(j) {
    const label = this.labels[j];
    return this.labels.indexOf(label) === this.labels.lastIndexOf(label) ? label : `${label} (${j})`;
  }

  /** The state that the page's address asks for, or null. */
  linkedState() {
    const parts = (fromAddress(this.data.id) ?? "").split(";");
    if (parts.length !== STATE.length) return null;
    const [query, key, value] = parts.slice(0, 3).map((part) => part.split(",").map((x) => (x ? Number(x) : NaN)));
    const [mask, [scaled]] = parts.slice(3).map((part) => [...part].map((digit) => ({ 0: false, 1: true })[digit]));
    const rows = (flat) => {
      const width = flat.length / this.size;
      return this.labels.map((_, j) => flat.slice(j * width, (j + 1) * width));
    };
    const state = this.legal({ query, key: rows(key), value: rows(value), mask, scaled });
    return Object.keys(state).length === STATE.length ? state : null; // a link made for other sizes
  }

  address() {
    const { query, key, value, mask, scaled } = this.state;
    const digits = (truths) => truths.map(Number).join("");
    return addressWith(this.data.id, [query, key.flat(), value.flat(), digits(mask), digits([scaled])].join(";"));
  }

  foot() {
    const link = this.host.live ? null : el("a", {}, "Link to these numbers");
    this.parts.push(() => link?.setAttribute("href", this.address()));
    const reset = () => this.set(this.data.initial, { say: "Back to the first numbers. " });
    const back = el("button", { type: "button", onclick: reset }, "Reset");
    const save = saveButtons(
      () => `${this.data.id}-steps`,
      () => drawSteps(this),
    );
    return el(
      "div",
      { class: "bb-foot" },
      el("p", {}, HELP),
      el("p", { class: "bb-actions" }, back, ...save, link),
    );
  }
}

/** Show `data` in `root`. `host`: { live, state, onState(changes) }. Returns { set(state), destroy() }. */
function mount(root, data, host = {}) {
  return new Steps(root, data, host);
}

function render(context) {
  return renderLive(context, mount, STATE);
}

export { mount, render };
export default { render };
