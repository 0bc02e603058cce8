// The attention explorer: thumbnails of every head; one head as a matrix or as lines; one token's weights as bars.
import {
  el,
  bytesOf,
  mountAll,
  followTheme,
  colours,
  sequentialScale,
  fromAddress,
  addressWith,
  followAddress,
  renderLive,
} from "./shared.js";
import { weightOf, shade, percent, visible, segmentRuns, strongest } from "./weights.js";
import { overview, picture } from "./head-views.js";
import { drawPicture } from "./picture.js";
import { saveButtons } from "./save.js";

const STATE = ["layer", "head", "focus", "view"];
const KINDS = {
  cls: "Mostly looks at [CLS]",
  sep: "Mostly looks at [SEP]",
  itself: "Mostly looks at the token itself",
  previous: "Mostly looks at the token before",
  next: "Mostly looks at the token after",
  broad: "Spreads over the whole text",
  mixed: "No single pattern",
};
const BARS = 8;
const HELP =
  "Point to preview, click to keep, Esc to let go. Arrow keys move through heads and tokens. " +
  "Layers, heads and positions count from 0.";

/** What all parts share: the record, the state, and what the pointer merely hovers over. */
class Explorer {
  constructor(root, data, host) {
    Object.assign(this, { root, data, host, size: data.tokens.length });
    // Element ids and radio groups must differ between all widgets of a page, also when each brings its own module.
    this.uid = `bb-ae-${Math.random().toString(36).slice(2)}`;
    this.labels = data.tokens.map(visible);
    this.runs = segmentRuns(data.segments);
    this.state = { layer: 0, head: 0, focus: null, view: "matrix", ...this.legal({ ...data.state, ...host.state }) };
    this.hover = {};
    const linked = host.live ? null : this.linkedState();
    Object.assign(this.state, linked);

    root.classList.add("bb-widget");
    const caption = el("p", { class: "bb-caption", id: `${this.uid}-caption` }, data.caption);
    this.spoken = el("p", { class: "bb-sr", "aria-live": "polite" });
    this.parts = [overview(this), headPanel(this), picture(this), readout(this), table(this), footer(this)];
    this.frame = el("div", { class: "bb-ae", role: "group", "aria-labelledby": caption.id }, caption);
    this.frame.setAttribute("data-lm-suppress-shortcuts", "true"); // or JupyterLab moves between cells on arrow keys
    this.frame.append(...this.parts.map((part) => part.node), this.spoken);
    this.frame.addEventListener("keydown", (e) => {
      if (e.key === "Escape" && this.state.focus !== null) this.set({ focus: null }, { say: true });
    });
    root.replaceChildren(this.frame);

    this.stopTheme = followTheme(root, () => this.recolour() && this.draw());
    this.recolour();
    this.layout();
    // Live widgets are drawn before they are in the page, others inside a closed dropdown: no width or colour yet.
    this.resized = new ResizeObserver(() => root.clientWidth !== this.width && (this.recolour(), this.layout()));
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
    const below = { layer: this.data.layers, head: this.data.heads, focus: this.size };
    const fits = ([name, value]) =>
      name === "view"
        ? ["matrix", "lines"].includes(value)
        : (name === "focus" && value === null) || (Number.isInteger(value) && value >= 0 && value < below[name]);
    return Object.fromEntries(Object.entries(values).filter(fits));
  }

  /** Take the state over from the reader or from Python, and tell everyone else. `key` stays marked for now. */
  set(values, { say = false, fromHost = false, key = null } = {}) {
    const changes = Object.entries(this.legal(values)).filter(([name, value]) => this.state[name] !== value);
    if (fromHost && !changes.length) return; // the echo of what the reader did
    Object.assign(this.state, Object.fromEntries(changes));
    this.hover = key === null || this.state.focus === null ? {} : { key };
    if (changes.some(([name]) => name === "view")) this.layout();
    else this.draw();
    if (changes.length && !fromHost) this.host.onState?.(Object.fromEntries(changes));
    if (say) this.spoken.textContent = this.sentence();
  }

  /** Show without keeping; peek({}) goes back to what is kept. */
  peek(values) {
    if (JSON.stringify(values) === JSON.stringify(this.hover)) return;
    this.hover = values;
    this.draw();
  }

  /** What is on screen now: the kept state, and over it what the pointer is on. */
  get shown() {
    return { ...this.state, ...this.hover };
  }

  /** The weights of the head on screen. */
  bytes() {
    const { layer, head } = this.shown;
    const at = layer * this.data.heads + head;
    if (this.cached?.at !== at) {
      this.cached = { at, bytes: bytesOf(this.data.weights, at * this.size ** 2, this.size ** 2) };
    }
    return this.cached.bytes;
  }

  /** The weights that one query gives, as bytes. */
  row(query) {
    return this.bytes().subarray(query * this.size, (query + 1) * this.size);
  }

  statistic(name, { layer, head } = this.shown) {
    return this.data.statistics[name][layer * this.data.heads + head];
  }

  kind({ layer, head } = this.shown) {
    return KINDS[this.data.kinds[layer * this.data.heads + head]];
  }

  /** A token with its position where it occurs more than once: two "of" are two tokens. */
  named(i, name = null) {
    const twin = this.labels.indexOf(this.labels[i]) !== this.labels.lastIndexOf(this.labels[i]);
    return el("bdi", { class: name }, this.labels[i], twin ? el("sub", {}, String(i)) : null);
  }

  /** What is on screen, for the ear. */
  sentence() {
    const { layer, head, focus, key } = this.shown;
    if (focus == null) return `Layer ${layer}, head ${head}. ${this.kind()}.`;
    if (key != null) return `${this.labels[focus]} to ${this.labels[key]}: ${percent(weightOf(this.row(focus)[key]))}`;
    const top = this.topKeys(focus, 3).map(([, j, q]) => `${this.labels[j]} ${percent(weightOf(q))}`);
    return `${this.labels[focus]}, position ${focus}, looks at ${top.join(", ")}`;
  }

  /** The keys that a query looks at most, as [query, key, q]. */
  topKeys(query, count) {
    return strongest(this.row(query), this.size, count).map(([, key, q]) => [query, key, q]);
  }

  /** What the lines show: all that the token in focus looks at, or the head's strongest links. Specks are left out. */
  links({ focus } = this.shown) {
    const links =
      focus == null ? strongest(this.bytes(), this.size, Math.min(3 * this.size, 150)) : this.topKeys(focus, this.size);
    return links.filter(([, , q]) => weightOf(q) >= 0.005);
  }

  /** The view that the page's address asks for, or null. */
  linkedState() {
    const match = /^l(\d+)\.h(\d+)(?:\.t(\d+))?\.(\w+)$/.exec(fromAddress(this.data.id) ?? "");
    if (!match) return null;
    const [, layer, head, focus, view] = match;
    const state = this.legal({ layer: +layer, head: +head, focus: focus === undefined ? null : +focus, view });
    return Object.keys(state).length === STATE.length ? state : null; // a link made for another record
  }

  /** Read the palette; true if it changed. The canvases cannot follow a style sheet by themselves. */
  recolour() {
    const read = colours(this.root, "backgroundColor", "--bb-middle", "--bb-strong");
    const changed = String(read) !== String(this.palette);
    this.palette = read;
    this.ramp = sequentialScale(...read); // even steps of shade
    this.scale = this.ramp.map((_, q) => this.ramp[Math.round(255 * shade(weightOf(q)))]); // by byte
    return changed;
  }

  layout() {
    this.width = this.root.clientWidth;
    this.frame.classList.toggle("bb-ae-narrow", this.width < 600);
    for (const part of this.parts) part.layout?.();
    this.draw();
  }

  draw() {
    for (const part of this.parts) part.draw?.();
  }
}

// ---- the parts: each is { node, layout?, draw? } ----

function headPanel(x) {
  const choice = (name, count) => {
    const options = Array.from({ length: count }, (_, i) => el("option", { value: i }, String(i)));
    const change = (e) => x.set({ [name]: +e.target.value }, { say: true });
    return el("select", { id: `${x.uid}-${name}`, onchange: change }, ...options);
  };
  const layer = choice("layer", x.data.layers);
  const head = choice("head", x.data.heads);
  const kind = el("p", { class: "bb-ae-kind" });
  const most = Math.log2(x.size).toFixed(1);
  const measures = [
    [
      "entropy",
      "Entropy",
      (v) => `${v.toFixed(1)} of ${most} bits`,
      "How widely a token spreads its attention: 0 bits is one token only",
    ],
    ["distance", "Mean distance", (v) => `${v.toFixed(1)} tokens`, "How far away the tokens looked at are"],
    ["cls", "On [CLS]", percent, "Mean weight on [CLS]"],
    ["sep", "On [SEP]", percent, "Mean weight on [SEP]"],
    ["itself", "On itself", percent, "Mean weight of a token on itself"],
    ["previous", "One before", percent, "Mean weight on the token before"],
    ["next", "One after", percent, "Mean weight on the token after"],
  ].filter(([name]) => x.data.statistics[name].some((v) => v !== null));
  const values = measures.map(() => el("dd"));
  const list = measures.map(([, label, , help], i) => el("div", { title: help }, el("dt", {}, label), values[i]));
  return {
    node: el(
      "div",
      { role: "group", class: "bb-ae-head", "aria-label": "The head" },
      el(
        "p",
        { class: "bb-ae-choice" },
        el("label", { for: layer.id }, "Layer"),
        layer,
        el("label", { for: head.id }, "Head"),
        head,
      ),
      kind,
      el("dl", {}, ...list),
    ),
    draw() {
      layer.value = x.shown.layer;
      head.value = x.shown.head;
      kind.textContent = x.kind();
      measures.forEach(([name, , format], i) => (values[i].textContent = format(x.statistic(name))));
    },
  };
}

function readout(x) {
  const title = el("p");
  const rest = el("p", { class: "bb-ae-rest" });
  const move = (step) => () => {
    const at = x.state.focus === null ? (step > 0 ? 0 : x.size - 1) : x.state.focus + step;
    x.set({ focus: at }, { say: true });
  };
  const back = el("button", { type: "button", "aria-label": "Focus the token before", onclick: move(-1) }, "‹");
  const on = el("button", { type: "button", "aria-label": "Focus the token after", onclick: move(1) }, "›");
  const bars = Array.from({ length: Math.min(BARS, x.size ** 2) }, () => {
    const name = el("span", { class: "bb-ae-name" });
    const fill = el("span", { class: "bb-ae-fill" });
    const number = el("span", { class: "bb-ae-number" });
    return { name, fill, number, node: el("li", {}, name, el("span", { class: "bb-ae-track" }, fill), number) };
  });
  return {
    node: el(
      "div",
      { role: "group", class: "bb-ae-readout", "aria-label": "Where a token looks" },
      el("div", { class: "bb-ae-title" }, title, el("span", { class: "bb-ae-steps" }, back, on)),
      el("ol", {}, ...bars.map((bar) => bar.node)),
      rest,
    ),
    draw() {
      const { focus, key } = x.shown;
      const links = focus == null ? strongest(x.bytes(), x.size, BARS) : x.topKeys(focus, BARS);
      if (focus == null) title.replaceChildren("Strongest links");
      else if (key == null) title.replaceChildren(x.named(focus, "bb-ae-from"), " looks at");
      else
        title.replaceChildren(
          x.named(focus, "bb-ae-from"),
          " → ",
          x.named(key),
          ` ${percent(weightOf(x.row(focus)[key]))}`,
        );
      bars.forEach(({ node, name, fill, number }, n) => {
        node.hidden = n >= links.length;
        if (node.hidden) return;
        const [i, j, q] = links[n];
        const parts = focus == null ? [x.named(i), " → ", x.named(j)] : [x.named(j)];
        name.replaceChildren(...parts);
        name.title = name.textContent;
        fill.style.width = `${100 * weightOf(q)}%`;
        number.textContent = percent(weightOf(q));
        node.classList.toggle("bb-ae-on", focus != null && j === key);
      });
      const others = x.size - links.length;
      if (focus == null) rest.textContent = "Point at a token or a cell to see where it looks.";
      else if (others <= 0) rest.textContent = "";
      else {
        const shown = links.reduce((sum, [, , q]) => sum + weightOf(q), 0);
        const all = x.row(focus).reduce((sum, q) => sum + weightOf(q), 0);
        const them = others === 1 ? "token" : `${others} tokens`;
        rest.textContent = `The other ${them}: ${percent(Math.max(0, all - shown))}`;
      }
    },
  };
}

function table(x) {
  const FULL = 20; // up to so many tokens the whole matrix makes a readable table
  const holder = el("div", {
    class: "bb-ae-scroll",
    tabindex: 0,
    role: "group",
    "aria-label": "The weights as a table",
  });
  const node = el(
    "details",
    { class: "bb-ae-table", ontoggle: () => draw() },
    el("summary", {}, "Show as a table"),
    holder,
  );
  const head = (scope, text) => el("th", { scope }, text);

  function rowsOf({ focus }) {
    if (focus != null) {
      const cells = (j, q) => [head("row", x.labels[j]), el("td", {}, String(j)), el("td", {}, percent(weightOf(q)))];
      return [["Token", "Position", "Weight"], [...x.row(focus)].map((q, j) => cells(j, q))];
    }
    if (x.size <= FULL) {
      const cells = (label, i) => [head("row", label), ...[...x.row(i)].map((q) => el("td", {}, percent(weightOf(q))))];
      return [["From \\ to", ...x.labels], x.labels.map(cells)];
    }
    const cells = ([i, j, q]) => [
      head("row", `${x.labels[i]} (${i})`),
      el("td", {}, `${x.labels[j]} (${j})`),
      el("td", {}, percent(weightOf(q))),
    ];
    return [["From (position)", "To (position)", "Weight"], strongest(x.bytes(), x.size, 40).map(cells)];
  }

  function draw() {
    if (!node.open) return;
    const { layer, head: number, focus } = x.shown;
    const what =
      focus != null ? `where “${x.labels[focus]}” looks` : x.size <= FULL ? "all weights" : "the strongest links";
    const [columns, rows] = rowsOf(x.shown);
    holder.replaceChildren(
      el(
        "table",
        {},
        el("caption", {}, `Layer ${layer}, head ${number}: ${what}`),
        el("thead", {}, el("tr", {}, ...columns.map((text) => head("col", text)))),
        el("tbody", {}, ...rows.map((cells) => el("tr", {}, ...cells))),
      ),
    );
  }
  return { node, draw };
}

function footer(x) {
  const name = () => `${x.data.id}-layer${x.state.layer}-head${x.state.head}`;
  const draw = () =>
    drawPicture({
      ...x.state,
      labels: x.labels,
      runs: x.runs,
      caption: x.data.caption,
      root: x.root,
      scale: x.scale,
      bytes: x.bytes(),
      size: x.size,
      links: x.links(),
    });
  const link = x.host.live ? null : el("a", {}, "Link to this view");
  return {
    node: el(
      "div",
      { class: "bb-foot" },
      el("p", {}, HELP),
      el("p", { class: "bb-actions" }, ...saveButtons(name, draw), link),
    ),
    draw() {
      const { layer, head, focus, view } = x.state;
      link?.setAttribute(
        "href",
        addressWith(x.data.id, `l${layer}.h${head}${focus === null ? "" : `.t${focus}`}.${view}`),
      );
    },
  };
}

/** Show `data` in `root`. `host`: { live, state, onState(changes) }. Returns { set(state), destroy() }. */
function mount(root, data, host = {}) {
  return new Explorer(root, data, host);
}

function render(context) {
  return renderLive(context, mount, STATE);
}

export { mount, render };
export default { render };
