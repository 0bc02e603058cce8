// Padding and packing: one batch padded, in groups of like length, and packed; what each layout wastes and costs.
import { el, followTheme, colours, fromAddress, addressWith, followAddress, renderLive } from "./shared.js";
import { saveButtons } from "./save.js";
import { visible } from "./weights.js";
import { LAYOUTS, layoutsOf, boundaries, drawn, operations } from "./packing-numbers.js";
import { drawPacking } from "./packing-views.js";
import { controls, pictures, rowPanel, description, table } from "./packing-parts.js";

const STATE = ["lengths", "groups", "layout", "focus", "seed"];
const HELP =
  "Point at a row to find it in all three, click to keep it. In the padded picture ↑ and ↓ move through the rows; " +
  "← and →, or dragging, change the length. Rows, positions and groups count from 0.";

class Packing {
  constructor(root, data, host) {
    Object.assign(this, { root, data, host });
    // Element ids and radio groups must differ between all widgets of a page, also when each brings its own module.
    this.uid = `bb-pe-${Math.random().toString(36).slice(2)}`;
    this.names = data.tokens.map((row) => row.map(visible));
    this.state = this.fitting({ ...data.initial, ...this.legal({ ...data.state, ...host.state }) });
    this.hover = {}; // { row, position } under the pointer; { lengths } while one is dragged
    const linked = host.live ? null : this.linkedState();
    Object.assign(this.state, linked);

    root.classList.add("bb-widget");
    const caption = el("p", { class: "bb-caption", id: `${this.uid}-caption` }, data.caption);
    this.spoken = el("p", { class: "bb-sr", "aria-live": "polite" });
    this.parts = [controls(this), pictures(this), rowPanel(this), description(this), table(this), footer(this)];
    this.frame = el("div", { class: "bb-pe", role: "group", "aria-labelledby": caption.id }, caption);
    this.frame.setAttribute("data-lm-suppress-shortcuts", "true"); // or JupyterLab moves between cells on arrow keys
    this.frame.append(...this.parts.map((part) => part.node), this.spoken);
    root.replaceChildren(this.frame);

    this.stopTheme = followTheme(root, () => (this.recolour(), this.draw()));
    this.recolour();
    this.layout();
    // Live widgets are drawn before they are in the page, others inside a closed dropdown: no width or colour yet.
    this.resized = new ResizeObserver(() => root.clientWidth !== this.pixels && (this.recolour(), this.layout()));
    this.resized.observe(root);
    // Nothing new about this widget: drawn all the same, for its link keeps what the address says about others.
    if (!host.live) this.stopAddress = followAddress(data.id, (news) => this.set((news && this.linkedState()) || {}));
    if (linked) root.scrollIntoView();
  }

  destroy() {
    this.stopTheme();
    this.resized.disconnect();
    this.stopAddress?.();
    this.root.replaceChildren();
  }

  /** The given values, less those that nothing can be drawn from. */
  legal(values) {
    const { rows, length } = this.data.limits;
    const between = (value, least, most) => Number.isInteger(value) && value >= least && value <= most;
    const fits = {
      lengths: (v) => Array.isArray(v) && between(v.length, 1, rows) && v.every((n) => between(n, 1, length)),
      groups: (v) => between(v, 1, rows),
      layout: (v) => LAYOUTS.includes(v),
      focus: (v) => v === null || between(v, 0, rows - 1),
      seed: (v) => v === null || between(v, 0, 2 ** 31 - 1),
    };
    return Object.fromEntries(Object.entries(values).filter(([name, value]) => fits[name]?.(value)));
  }

  /** A state whose groups and focus fit the number of its rows. */
  fitting(state) {
    const rows = state.lengths.length;
    return { ...state, groups: Math.min(state.groups, rows), focus: state.focus < rows ? state.focus : null };
  }

  /** Take the state over from the reader or from Python, and tell everyone else. */
  set(values, { fromHost = false, say = "" } = {}) {
    const next = this.fitting({ ...this.state, ...this.legal(values) });
    const changed = STATE.filter((name) => JSON.stringify(next[name]) !== JSON.stringify(this.state[name]));
    if (fromHost && !changed.length) return; // the echo of what the reader did
    this.state = next;
    this.hover = {};
    if (changed.includes("lengths") || changed.includes("seed")) this.layout();
    else this.draw();
    if (changed.length && !fromHost) this.host.onState?.(Object.fromEntries(changed.map((name) => [name, next[name]])));
    if (say) this.spoken.textContent = say === true ? this.sentence() : say;
  }

  /** Show without keeping; peek({}) goes back to what is kept. */
  peek(values) {
    if (JSON.stringify(values) === JSON.stringify(this.hover)) return;
    this.hover = values;
    this.draw();
  }

  /** Give a row another length, within what can be drawn. */
  setLength(row, length, more = {}) {
    const lengths = this.lengthsWith(row, length);
    this.set({ lengths, focus: row }, { say: true, ...more });
  }

  lengthsWith(row, length) {
    const kept = Math.max(1, Math.min(this.data.limits.length, length));
    return this.state.lengths.map((old, i) => (i === row ? kept : old));
  }

  /** Another batch of as many rows, from the given lengths. */
  another() {
    const seed = (this.state.seed ?? 0) + 1;
    this.set(
      { lengths: drawn(this.data.initial.lengths, this.state.lengths.length, seed), seed },
      { say: `Lengths drawn with seed ${seed}.` },
    );
  }

  /** One row more, of the length that the given batch has there (its rows come round again), or one less. */
  addRows(count) {
    const { lengths } = this.state;
    const given = this.data.initial.lengths;
    const rows = Math.max(1, Math.min(this.data.limits.rows, lengths.length + count));
    const changed = Array.from({ length: rows }, (_, i) => lengths[i] ?? given[i % given.length]);
    this.set({ lengths: changed }, { say: `${rows} rows.` });
  }

  reset() {
    const { lengths, groups, seed } = this.data.initial;
    this.set({ lengths, groups, seed, focus: null }, { say: "The batch as given." });
  }

  /** Where the lengths come from, in words. */
  source() {
    const { lengths, seed } = this.state;
    const given = this.data.initial.lengths;
    const same = (other) => String(other) === String(lengths);
    if (seed === null) return same(given) ? "as given" : "changed";
    return `drawn with seed ${seed}${same(drawn(given, lengths.length, seed)) ? "" : ", then changed"}`;
  }

  /** What is on screen now: the kept state, and over it what the pointer is on. */
  get shown() {
    const { row = this.state.focus, lengths = this.state.lengths } = this.hover;
    return { ...this.state, focus: row, lengths };
  }

  /** Whether rows have tokens to show: those of a batch that was drawn have none. */
  get hasNames() {
    return this.names.length > 0 && this.state.seed === null;
  }

  /** The tokens of a row, as far as the batch as given has them, or null. */
  named(row) {
    return (this.hasNames && this.names[row]) || null;
  }

  title(layout) {
    const { groups } = this.state;
    return layout === "bucketed"
      ? `Bucketed in ${groups} group${groups > 1 ? "s" : ""}`
      : { padded: "Padded", packed: "Packed" }[layout];
  }

  /** The group of a row, as its place among the groups and what the layout says about it. */
  groupOf(row) {
    const place = this.layouts.bucketed.groups.findIndex(({ rows }) => rows.includes(row));
    return { place, ...this.layouts.bucketed.groups[place] };
  }

  /** The row in focus, for the eye and for the ear. */
  sentence() {
    const { focus, lengths } = this.shown;
    if (focus === null) return "";
    const length = lengths[focus];
    const { place, width } = this.groupOf(focus);
    const start = boundaries(lengths)[focus];
    const tokens = length === 1 ? "1 token" : `${length} tokens`;
    const last = start + length - 1;
    const spare = (wide) => (wide === length ? "no padding" : `${wide - length} of padding`);
    return (
      `Row ${focus}: ${tokens}. Padded: ${spare(this.layouts.padded.groups[0].width)}. ` +
      `Bucketed: in group ${place}, ${spare(width)}. ` +
      `Packed: ${start === last ? `position ${start}` : `positions ${start} to ${last}`}.`
    );
  }

  /** The view that the page's address asks for, or null. */
  linkedState() {
    const parts = (fromAddress(this.data.id) ?? "").split(";");
    if (parts.length !== STATE.length) return null;
    const number = (text) => (/^\d+$/.test(text) ? Number(text) : NaN);
    const [lengths, groups, layout, focus, seed] = parts;
    const state = this.legal({
      lengths: lengths ? lengths.split(",").map(number) : this.data.initial.lengths,
      groups: number(groups),
      layout,
      focus: focus ? number(focus) : null,
      seed: seed ? number(seed) : null,
    });
    return Object.keys(state).length === STATE.length ? this.fitting(state) : null;
  }

  address() {
    const { lengths, groups, layout, focus, seed } = this.state;
    const own = String(lengths) === String(this.data.initial.lengths) ? "" : lengths.join(",");
    return addressWith(this.data.id, [own, groups, layout, focus ?? "", seed ?? ""].join(";"));
  }

  /** Read the palette. The canvases cannot follow a style sheet by themselves. */
  recolour() {
    const names = ["backgroundColor", "color", "--bb-muted", "--bb-tint", "--bb-middle", "--bb-strong", "--bb-focus"];
    const [background, ink, muted, tint, middle, strong, focus] = colours(this.root, ...names);
    const mix = (a, b, t) => a.map((v, i) => Math.round(v + t * (b[i] - v)));
    const all = { background, ink, muted, tint, focus };
    this.palette = Object.fromEntries(Object.entries(all).map(([name, rgb]) => [name, `rgb(${rgb})`]));
    const twoOf = (one, other) => [one, other].map((rgb) => `rgb(${rgb})`);
    this.palette.rows = twoOf(middle, mix(middle, strong, 0.45));
    this.palette.pale = twoOf(mix(background, middle, 0.22), mix(background, middle, 0.34));
  }

  /** Sizes follow the width of the page and the longest row. */
  layout() {
    this.pixels = this.root.clientWidth;
    const { lengths } = this.state;
    this.width = Math.max(...lengths); // tokens
    const narrow = this.pixels < 640;
    // A small batch with names stands in full width, so that they can be read.
    const tall = narrow || (this.hasNames && this.width <= 24);
    this.frame.classList.toggle("bb-pe-narrow", narrow);
    this.frame.classList.toggle("bb-pe-tall", tall);
    for (const part of this.parts) part.layout?.();
    this.draw();
  }

  /** The size of a token, in pixels, where a picture may be that wide. */
  measure(width) {
    const across = Math.max(0.01, width / this.width);
    const named = this.hasNames && across >= 34;
    const tallest = this.frame.classList.contains("bb-pe-narrow") ? 240 : 320;
    const height = named ? 22 : Math.max(1.5, Math.min(14, tallest / this.state.lengths.length));
    this.cell = { width: across, height, named };
  }

  draw() {
    this.layouts = layoutsOf(this.shown, this.data);
    this.operations = operations(this.layouts.padded.flops);
    for (const part of this.parts) part.draw?.();
  }
}

function footer(x) {
  const link = x.host.live ? null : el("a", {}, "Link to this view");
  const name = () => `${x.data.id}-${x.state.lengths.length}-rows`;
  return {
    node: el(
      "div",
      { class: "bb-foot" },
      el("p", {}, HELP),
      el("p", { class: "bb-actions" }, ...saveButtons(name, () => drawPacking(x)), link),
    ),
    draw: () => link?.setAttribute("href", x.address()),
  };
}

/** Show `data` in `root`. `host`: { live, state, onState(changes) }. Returns { set(state), destroy() }. */
function mount(root, data, host = {}) {
  return new Packing(root, data, host);
}

function render(context) {
  return renderLive(context, mount, STATE);
}

export { mount, render };
export default { render };
