// The embedding sum: a token's three parts, their sum and its LayerNorm as strips; and which positions are alike.
import {
  el,
  bytesOf,
  followTheme,
  colours,
  sequentialScale,
  fromAddress,
  addressWith,
  followAddress,
  renderLive,
} from "./shared.js";
import { saveButtons } from "./save.js";
// For the picture: Python joins what is imported here, not what that imports in turn.
import {} from "./picture-fit.js";
import { visible } from "./weights.js";
import { written } from "./attention-numbers.js";
import {
  PARTS,
  bytesIn,
  tablesOf,
  lengthOf,
  cosineOf,
  sumOf,
  layerNorm,
  sharesOf,
  reach,
} from "./embedding-numbers.js";
import { strips, dimension } from "./embedding-strips.js";
import { positionMap } from "./position-map.js";
import { drawSum } from "./embedding-picture.js";

const STATE = ["focus", ...PARTS];
const ALL = { token: true, segment: true, position: true };
const HELP =
  "Point at a token to preview it, click to keep it. Arrow keys move through tokens, dimensions and positions. " +
  "All of them count from 0.";

/** What all parts share: the record, the state, and what the pointer merely hovers over. */
class EmbeddingSum {
  constructor(root, data, host) {
    Object.assign(this, { root, data, host, size: data.tokens.length });
    // Element ids must differ between all widgets of a page, also when each brings its own module.
    this.uid = `bb-es-${Math.random().toString(36).slice(2)}`;
    this.labels = data.tokens.map(visible);
    this.tables = tablesOf(data, bytesOf(data.numbers, 0, bytesIn(data)));
    this.state = { focus: 0, ...ALL, ...this.legal({ ...data.state, ...host.state }) };
    this.hover = null; // the token under the pointer
    this.dimension = 0;
    const linked = host.live ? null : this.linkedState();
    Object.assign(this.state, linked);
    // One scale for all tokens, so that strips of different tokens can be compared.
    const every = this.labels.map((_, i) => sumOf(this.tables, ALL, i));
    this.limits = {
      part: reach([...every, ...this.tables.token]),
      norm: reach(every.map((sum) => layerNorm(sum, this.tables, data.eps))),
    };

    root.classList.add("bb-widget");
    const caption = el("p", { class: "bb-caption", id: `${this.uid}-caption` }, data.caption);
    this.spoken = el("p", { class: "bb-sr", "aria-live": "polite" });
    this.parts = [tokens(this), strips(this), dimension(this), positionMap(this), twin(this), foot(this)];
    this.frame = el("div", { class: "bb-es", role: "group", "aria-labelledby": caption.id }, caption);
    this.frame.setAttribute("data-lm-suppress-shortcuts", "true"); // or JupyterLab moves between cells on arrow keys
    this.frame.append(...this.parts.map((part) => part.node), this.spoken);
    root.replaceChildren(this.frame);

    this.stopTheme = followTheme(root, () => this.recolour() && this.draw());
    this.recolour();
    this.draw();
    // Live widgets are drawn before they are in the page, others inside a closed dropdown: no colour yet.
    this.resized = new ResizeObserver(() => this.recolour() && this.draw());
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

  /** The given values, less those that the record does not have. */
  legal(values) {
    const fits = ([name, value]) =>
      name === "focus"
        ? Number.isInteger(value) && value >= 0 && value < this.size
        : PARTS.includes(name) && typeof value === "boolean";
    return Object.fromEntries(Object.entries(values).filter(fits));
  }

  /** Take the state over from the reader or from Python, and tell everyone else. */
  set(values, { say = false, fromHost = false } = {}) {
    const changes = Object.fromEntries(
      Object.entries(this.legal(values)).filter(([name, value]) => this.state[name] !== value),
    );
    const changed = Object.keys(changes).length > 0;
    if (fromHost && !changed) return; // the echo of what the reader did
    Object.assign(this.state, changes);
    this.hover = null;
    this.draw();
    if (changed && !fromHost) this.host.onState?.(changes);
    if (say) this.spoken.textContent = this.sentence();
  }

  /** Show a token without keeping it; null goes back to the one that is kept. */
  peek(token) {
    if (token === this.hover) return;
    this.hover = token;
    this.draw();
  }

  /** The token on screen. */
  get shown() {
    return this.hover ?? this.state.focus;
  }

  /** Every vector of the token on screen, and what is said about them. */
  results() {
    const { tables, state, shown: i, data } = this;
    const parts = Object.fromEntries(PARTS.map((name) => [name, tables[name][i]]));
    const sum = sumOf(tables, state, i);
    const norm = layerNorm(sum, tables, data.eps);
    const whole = PARTS.every((name) => state[name]);
    const likeness = whole ? null : cosineOf(norm, layerNorm(sumOf(tables, ALL, i), tables, data.eps));
    return { ...parts, sum, norm, likeness, shares: sharesOf(tables, state, i) };
  }

  /** A token with its position where it occurs more than once: two "the" are two tokens. */
  named(i) {
    const label = this.labels[i];
    return this.labels.indexOf(label) === this.labels.lastIndexOf(label) ? label : `${label} (${i})`;
  }

  /** What is on screen, for the ear. */
  sentence() {
    const { sum, norm, likeness } = this.current;
    const on = PARTS.filter((name) => this.state[name]);
    const lengths = on.map((name) => `${name} ${written(lengthOf(this.current[name]), 2)}`);
    const what = on.length ? `Lengths: ${lengths.join(", ")}, sum ${written(lengthOf(sum), 2)}` : "Nothing is added";
    const like = likeness === null ? "" : `, cosine ${written(likeness, 2)} with all parts on`;
    return `${this.named(this.shown)}. ${what}, after LayerNorm ${written(lengthOf(norm), 2)}${like}.`;
  }

  /** The view that the page's address asks for, or null. */
  linkedState() {
    const match = /^t(\d+)\.([01])([01])([01])$/.exec(fromAddress(this.data.id) ?? "");
    if (!match) return null;
    const switches = PARTS.map((name, n) => [name, match[n + 2] === "1"]);
    const state = this.legal({ focus: Number(match[1]), ...Object.fromEntries(switches) });
    return Object.keys(state).length === STATE.length ? state : null; // a link made for another text
  }

  address() {
    const digits = PARTS.map((name) => Number(this.state[name])).join("");
    return addressWith(this.data.id, `t${this.state.focus}.${digits}`);
  }

  /** Read the palette; true if it changed. The canvases cannot follow a style sheet by themselves. */
  recolour() {
    const names = ["backgroundColor", "--bb-middle", "--bb-strong", "--bb-es-minus-middle", "--bb-es-minus-strong"];
    const read = colours(this.root, ...names);
    const changed = String(read) !== String(this.palette);
    this.palette = read;
    const [none, middle, strong, minusMiddle, minusStrong] = read;
    this.scale = {
      plus: sequentialScale(none, middle, strong),
      minus: sequentialScale(none, minusMiddle, minusStrong),
    };
    return changed;
  }

  /** The pixel for a number: blue above zero, orange below, strongest at ± limit and beyond. */
  pixel(x, limit) {
    return this.scale[x < 0 ? "minus" : "plus"][Math.round(255 * Math.min(1, Math.abs(x) / limit))];
  }

  draw() {
    this.current = this.results();
    for (const part of this.parts) part.draw?.();
  }
}

// ---- the parts: each is { node, draw? } ----

function tokens(x) {
  const keep = (i) => {
    x.set({ focus: i }, { say: true });
    buttons[i].focus();
  };
  const onkey = (event, i) => {
    const to = { ArrowRight: i + 1, ArrowDown: i + 1, ArrowLeft: i - 1, ArrowUp: i - 1, Home: 0, End: x.size - 1 }[
      event.key
    ];
    if (to === undefined || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    keep((to + x.size) % x.size);
  };
  const buttons = x.labels.map((label, i) =>
    el(
      "button",
      {
        type: "button",
        role: "radio",
        onclick: () => keep(i),
        onpointerenter: (event) => event.pointerType === "mouse" && x.peek(i),
        onpointerleave: () => x.peek(null),
        onkeydown: (event) => onkey(event, i),
      },
      el("bdi", {}, label),
      x.labels.indexOf(label) === x.labels.lastIndexOf(label) ? null : el("sub", {}, String(i)),
    ),
  );
  return {
    node: el("div", { class: "bb-es-tokens", role: "radiogroup", "aria-label": "Token" }, ...buttons),
    draw() {
      buttons.forEach((button, i) => {
        button.setAttribute("aria-checked", i === x.state.focus);
        button.tabIndex = i === x.state.focus ? 0 : -1;
        button.classList.toggle("bb-es-shown", i === x.shown);
      });
    },
  };
}

/** The same numbers as tables. */
function twin(x) {
  const holder = el("div", {
    class: "bb-es-scroll",
    tabindex: 0,
    role: "group",
    "aria-label": "The numbers as tables",
  });
  const node = el(
    "details",
    { class: "bb-es-twin", ontoggle: () => draw() },
    el("summary", {}, "Show as tables"),
    holder,
  );
  const table = (caption, columns, rows) =>
    el(
      "table",
      {},
      el("caption", {}, caption),
      el("thead", {}, el("tr", {}, ...columns.map((text) => el("th", { scope: "col" }, text)))),
      el(
        "tbody",
        {},
        ...rows.map(([head, ...cells]) =>
          el("tr", {}, el("th", { scope: "row" }, head), ...cells.map((text) => el("td", {}, text))),
        ),
      ),
    );

  function draw() {
    if (!node.open) return;
    const { state, tables, current } = x;
    const names = PARTS.map((name) => (state[name] ? name : `${name} (off)`));
    const lengths = x.labels.map((label, i) => {
      const sum = sumOf(tables, state, i);
      const vectors = [...PARTS.map((name) => tables[name][i]), sum, layerNorm(sum, tables, x.data.eps)];
      const shares = sharesOf(tables, state, i).map((share) => `${Math.round(100 * share)}%`);
      return [label, String(i), String(x.data.segments[i]), ...vectors.map((v) => written(lengthOf(v), 2)), ...shares];
    });
    const columns = [...names, "sum", "after LayerNorm"];
    const numbers = Array.from(current.sum, (_, d) =>
      [d, ...[...PARTS, "sum", "norm"].map((name) => written(current[name][d], 4))].map(String),
    );
    holder.replaceChildren(
      table(
        "Lengths of the vectors, and shares of the sum’s squared length",
        ["Token", "Position", "Segment", ...columns, ...PARTS.map((name) => `share of ${name}`)],
        lengths,
      ),
      table(`Numbers of “${x.labels[x.shown]}”, position ${x.shown}`, ["Dimension", ...columns], numbers),
    );
  }
  return { node, draw };
}

function foot(x) {
  const reset = el("button", { type: "button", onclick: () => x.set(ALL, { say: true }) }, "All parts on");
  const link = x.host.live ? null : el("a", {}, "Link to this view");
  const save = saveButtons(
    () => `${x.data.id}-token${x.state.focus}`,
    () => drawSum(x),
  );
  return {
    node: el("div", { class: "bb-foot" }, el("p", {}, HELP), el("p", { class: "bb-actions" }, reset, ...save, link)),
    draw: () => link?.setAttribute("href", x.address()),
  };
}

/** Show `data` in `root`. `host`: { live, state, onState(changes) }. Returns { set(state), destroy() }. */
function mount(root, data, host = {}) {
  return new EmbeddingSum(root, data, host);
}

function render(context) {
  return renderLive(context, mount, STATE);
}

export { mount, render };
export default { render };
