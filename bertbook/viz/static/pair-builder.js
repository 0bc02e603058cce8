// The pair builder: documents become pairs, one of them in sight, with where its segments lie and what was cut.
import { el, followTheme, fromAddress, addressWith, followAddress, renderLive } from "./shared.js";
import { saveButtons } from "./save.js";
// Joined only where it is named here: what the picture needs.
import {} from "./picture-fit.js";
import { visible } from "./weights.js";
import { pairsOf, endsOf, LABELS } from "./pair-rules.js";
import { inks } from "./picture-text.js";
import { drawPair } from "./pair-picture.js";

const STATE = ["objective", "max_length", "seed", "pair"];
const OBJECTIVES = { nsp: "next sentence", sop: "sentence order", none: "no pairs" };
const HELP =
  "A random segment comes from another document of the same source. Sentences are counted from 0, and so are documents.";
const plural = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;
const range = (from, to) => Array.from({ length: to - from }, (_, i) => from + i);

class PairBuilder {
  constructor(root, data, host) {
    Object.assign(this, { root, data, host });
    // Element ids must differ between all widgets of a page, also when each brings its own module.
    this.uid = `bb-pb-${Math.random().toString(36).slice(2)}`;
    this.documents = data.documents.map(({ source, pieces }) => ({
      source,
      ends: endsOf(pieces.map((sentence) => sentence.length)),
      tokens: pieces.flat(),
    }));
    this.state = { ...data.initial, ...this.legal({ ...data.state, ...host.state }) };
    const linked = host.live ? null : this.linkedState();
    Object.assign(this.state, linked);

    root.classList.add("bb-widget");
    const caption = el("p", { class: "bb-caption", id: `${this.uid}-caption` }, data.caption);
    this.spoken = el("p", { class: "bb-sr", "aria-live": "polite" });
    this.shown = el("div", { class: "bb-pb-shown" });
    this.frame = el("div", { class: "bb-pb", role: "group", "aria-labelledby": caption.id }, caption);
    this.frame.setAttribute("data-lm-suppress-shortcuts", "true"); // or JupyterLab moves between cells on arrow keys
    this.frame.append(this.controls(), this.steps(), this.shown, this.table(), this.foot(), this.spoken);
    root.replaceChildren(this.frame);

    this.stopTheme = followTheme(root, () => {});
    // Nothing new about this widget: drawn all the same, for its link keeps what the address says about others.
    if (!host.live) this.stopAddress = followAddress(data.id, (news) => this.set((news && this.linkedState()) || {}));
    this.draw();
    if (linked) root.scrollIntoView();
  }

  destroy() {
    this.stopTheme();
    this.stopAddress?.();
    this.root.replaceChildren();
  }

  /** The given values, less those that are not allowed. */
  legal(values) {
    const { shortest, longest, seed } = this.data.limits;
    const whole = (value, least, most) => Number.isInteger(value) && value >= least && value <= most;
    const allowed = {
      objective: (value) => Object.hasOwn(OBJECTIVES, value),
      max_length: (value) => whole(value, shortest, longest),
      seed: (value) => whole(value, 0, seed),
      pair: (value) => whole(value, 0, 1e6),
    };
    return Object.fromEntries(Object.entries(values).filter(([name, value]) => allowed[name]?.(value)));
  }

  /** Take the state over from the reader or from Python, and tell everyone else. */
  set(values, { fromHost = false } = {}) {
    const differs = ([name, value]) => value !== this.state[name];
    const changes = Object.fromEntries(Object.entries(this.legal(values)).filter(differs));
    const changed = Object.keys(changes).length > 0;
    if (fromHost && !changed) return; // the echo of what the reader did
    Object.assign(this.state, changes);
    this.draw();
    if (changed && !fromHost) this.host.onState?.(changes);
    if (changed) this.spoken.textContent = this.sentence();
  }

  controls() {
    const { shortest, longest, seed } = this.data.limits;
    const options = Object.entries(OBJECTIVES).map(([value, text]) => el("option", { value }, text));
    const objective = el("select", { onchange: () => this.set({ objective: objective.value, pair: 0 }) }, ...options);
    const length = el("input", {
      type: "range",
      min: shortest,
      max: longest,
      oninput: () => this.set({ max_length: Number(length.value) }),
    });
    const drawn = el("input", { type: "number", min: 0, max: seed, step: 1 });
    drawn.addEventListener("input", () => {
      const value = drawn.value === "" ? NaN : Number(drawn.value);
      const right = "seed" in this.legal({ seed: value });
      if (right) {
        drawn.removeAttribute("aria-invalid");
        this.set({ seed: value });
      } else drawn.setAttribute("aria-invalid", "true");
    });
    drawn.addEventListener("blur", () => {
      drawn.removeAttribute("aria-invalid");
      drawn.value = this.state.seed;
    });
    const again = el("button", { type: "button", onclick: () => this.set({ seed: (this.state.seed + 1) % (seed + 1) }) }, "Draw again");
    const tokens = el("output", {});
    this.follow = () => {
      objective.value = this.state.objective;
      length.value = this.state.max_length;
      length.setAttribute("aria-valuetext", plural(this.state.max_length, "token"));
      tokens.value = this.state.max_length;
      if (document.activeElement !== drawn) drawn.value = this.state.seed;
    };
    const label = (text, ...nodes) => el("label", {}, el("span", {}, text), ...nodes);
    return el(
      "div",
      { class: "bb-pb-controls" },
      label("Objective", objective),
      label("Longest sequence", length, tokens),
      label("Seed", drawn),
      again,
    );
  }

  steps() {
    const step = (by) => () => this.set({ pair: Math.min(this.pairs.length - 1, Math.max(0, this.number + by)) });
    this.before = el("button", { type: "button", onclick: step(-1) }, "Previous");
    this.after = el("button", { type: "button", onclick: step(1) }, "Next");
    this.count = el("span", {});
    return el("div", { class: "bb-pb-steps" }, this.before, this.count, this.after);
  }

  table() {
    this.rows = el("tbody", {});
    const head = ["position", "token", "segment id", "document", "sentence"].map((name) => el("th", { scope: "col" }, name));
    const table = el("table", {}, el("thead", {}, el("tr", {}, ...head)), this.rows);
    const scroll = el("div", { class: "bb-pb-scroll", tabindex: "0", role: "group", "aria-label": "Tokens as a table" }, table);
    return el("details", { class: "bb-pb-table" }, el("summary", {}, "The same as a table"), scroll);
  }

  foot() {
    const link = this.host.live ? null : el("a", {}, "Link to this pair");
    this.relink = () => link?.setAttribute("href", this.address());
    const reset = el("button", { type: "button", onclick: () => this.set(this.data.initial) }, "Reset");
    const save = saveButtons(() => `${this.data.id}-pair-${this.number}`, () => this.drawn());
    return el("div", { class: "bb-foot" }, el("p", {}, HELP), el("p", { class: "bb-actions" }, reset, ...save, link));
  }

  draw() {
    const { objective, max_length: maxLength, seed } = this.state;
    this.pairs = pairsOf(this.documents, { objective, maxLength, seed });
    this.number = Math.min(this.state.pair, this.pairs.length - 1);
    this.pair = this.pairs[this.number];
    this.sequence = this.tokens();
    const noun = objective === "none" ? "Sequence" : "Pair";
    this.count.textContent = `${noun} ${this.number} (0 to ${this.pairs.length - 1})`;
    this.before.disabled = this.number === 0;
    this.after.disabled = this.number === this.pairs.length - 1;
    this.shown.replaceChildren(this.verdict(), this.strip(), this.map());
    let position = 0;
    this.rows.replaceChildren(...this.sequence.map((token) => this.row(token, token.cut ? "cut" : position++)));
    this.follow();
    this.relink();
  }

  /** [{ text, segment, part, sentence, cut }] in order; what is cut away stands where it stood, without a segment id. */
  tokens() {
    const tokens = [{ text: "[CLS]", segment: 0 }];
    this.pair.parts.forEach(({ document, start, stop, kept: [from, to] }, part) => {
      const { ends, tokens: all } = this.documents[document];
      for (const sentence of range(start, stop)) {
        for (let i = ends[sentence]; i < ends[sentence + 1]; i++) {
          const cut = i - ends[start] < from || i - ends[start] >= to;
          // Of a sentence longer than a sequence, what stands in the others is no part of this one.
          if (cut && this.state.objective === "none") continue;
          tokens.push({ text: all[i], segment: cut ? null : part, part, document, sentence, cut });
        }
      }
      tokens.push({ text: "[SEP]", segment: part });
    });
    return tokens;
  }

  verdict() {
    const { label, parts } = this.pair;
    const names = LABELS[this.state.objective];
    const lines = [];
    if (names) lines.push(el("p", { class: "bb-pb-label" }, el("strong", {}, `Label ${label}: ${names[label]}`), this.tally(names)));
    for (const [i, part] of parts.entries()) {
      const name = el("span", { class: `bb-pb-badge bb-pb-${"ab"[i]}` }, "AB"[i]);
      lines.push(el("p", {}, parts.length > 1 ? name : null, this.place(part)));
    }
    lines.push(el("p", { class: "bb-pb-muted" }, this.size()));
    return el("div", { class: "bb-pb-verdict" }, ...lines);
  }

  size() {
    const kept = this.sequence.filter(({ cut }) => !cut).length;
    const cut = this.sequence.length - kept;
    const away = cut ? ` ${plural(cut, "token")} cut away.` : "";
    return `${plural(kept, "token")} of at most ${this.state.max_length}, under each its segment id.${away}`;
  }

  tally(names) {
    const ones = this.pairs.filter(({ label }) => label === 1).length;
    return ` — in this draw ${this.pairs.length - ones} × ${names[0]}, ${ones} × ${names[1]}`;
  }

  place({ document, start, stop }) {
    const { name, source } = this.data.documents[document];
    const which = stop - start > 1 ? `sentences ${start} to ${stop - 1}` : `sentence ${start}`;
    return `${which} of document ${document}, ${visible(name)}${source ? ` (${source})` : ""}`;
  }

  /** The tokens as boxes: { kind, text, below }. */
  chips() {
    return this.sequence.map(({ text, segment, part, cut }) => {
      const kind = cut ? "cut" : part === undefined ? "special" : "ab"[part];
      return { kind, text: visible(text), below: cut ? "cut" : String(segment) };
    });
  }

  strip() {
    const chips = this.chips().map(({ kind, text, below }) =>
      el("li", { class: `bb-pb-token bb-pb-${kind}` }, el("span", { dir: "auto" }, text), el("span", { class: "bb-pb-id" }, below)),
    );
    return el("ol", { class: "bb-pb-tokens", "aria-label": "Tokens, each with its segment id" }, ...chips);
  }

  /** The documents as rows of boxes, one a sentence: [{ name, used, boxes: [{ kind, mark, text }] }]. */
  places() {
    const { parts, next } = this.pair;
    const [a, b] = parts;
    const within = (part, document, sentence) =>
      part && part.document === document && part.start <= sentence && sentence < part.stop;
    return this.data.documents.map(({ name, sentences }, document) => {
      const boxes = sentences.map((text, sentence) => {
        const kind = within(a, document, sentence) ? "a" : within(b, document, sentence) ? "b" : within(next, document, sentence) ? "next" : "none";
        const mark = { a: b ? "A" : "•", b: "B", next: "↩" }[kind] ?? "";
        return { kind, mark, text };
      });
      return { name: `${document} ${visible(name)}`, used: parts.some((part) => part.document === document), boxes };
    });
  }

  hint() {
    return `One box a sentence.${this.pair.next ? " ↩ would follow A; it goes back and begins the next pair." : ""}`;
  }

  /** Each document as a row of boxes, one a sentence. */
  map() {
    const rows = this.places().map(({ name, used, boxes }, document) => {
      const nodes = boxes.map(({ kind, mark, text }, i) => el("span", { class: `bb-pb-box bb-pb-${kind}`, title: `${i}: ${text}` }, mark));
      return el("li", { class: used ? "bb-pb-used" : "" }, el("span", { class: "bb-pb-name" }, name), el("span", { class: "bb-pb-boxes", role: "img", "aria-label": this.described(document) }, ...nodes));
    });
    return el("div", { class: "bb-pb-map" }, el("p", { class: "bb-pb-muted" }, this.hint()), el("ul", {}, ...rows));
  }

  /** The pair as an SVG to keep, with what the controls say. */
  drawn() {
    const { objective, max_length: most, seed } = this.state;
    const { label, parts } = this.pair;
    const names = LABELS[objective];
    const lines = [[this.count.textContent, { weight: 600 }]];
    if (names) lines.push([`Label ${label}: ${names[label]}${this.tally(names)}`, {}]);
    parts.forEach((part, i) => lines.push([`${parts.length > 1 ? `${"AB"[i]}: ` : ""}${this.place(part)}`, {}]));
    return drawPair({
      palette: inks(this.root),
      caption: this.data.caption,
      settings: `${OBJECTIVES[objective]}, longest sequence ${most}, seed ${seed}`,
      lines: [...lines, [this.size(), {}]],
      chips: this.chips(),
      hint: this.hint(),
      documents: this.places(),
    });
  }

  described(document) {
    const { parts, next } = this.pair;
    const which = ({ start, stop }) => (stop - start > 1 ? `${start} to ${stop - 1}` : String(start));
    const found = parts.flatMap((part, i) => (part.document === document ? [`${which(part)} ${parts.length > 1 ? `are ${"AB"[i]}` : "are here"}`] : []));
    if (next?.document === document) found.push(`${which(next)} go back`);
    return `${plural(this.data.documents[document].sentences.length, "sentence")}${found.length ? `: ${found.join(", ")}` : ""}`;
  }

  row({ text, segment, document, sentence }, position) {
    const cells = [position, visible(text), segment ?? "", document ?? "", sentence ?? ""];
    return el("tr", {}, ...cells.map((cell) => el("td", {}, String(cell))));
  }

  /** What is shown, for the ear. */
  sentence() {
    const { label, parts } = this.pair;
    const names = LABELS[this.state.objective];
    const head = names ? `Label ${label}, ${names[label]}. ` : "";
    const where = parts.map((part, i) => `${parts.length > 1 ? `${"AB"[i]}: ` : ""}${this.place(part)}.`).join(" ");
    const cut = this.sequence.filter((token) => token.cut).length;
    return `${this.count.textContent}. ${head}${where}${cut ? ` ${plural(cut, "token")} cut away.` : ""}`;
  }

  /** The state that the page's address asks for, or null. */
  linkedState() {
    const parts = (fromAddress(this.data.id) ?? "").split(",");
    if (parts.length !== STATE.length) return null;
    const [objective, ...numbers] = parts;
    const [max_length, seed, pair] = numbers.map((text) => (/^\d+$/.test(text) ? Number(text) : NaN));
    const state = this.legal({ objective, max_length, seed, pair });
    return Object.keys(state).length === STATE.length ? state : null;
  }

  address() {
    const { objective, max_length, seed } = this.state;
    return addressWith(this.data.id, [objective, max_length, seed, this.number].join(","));
  }
}

/** Show `data` in `root`. `host`: { live, state, onState(changes) }. Returns { set(state), destroy() }. */
function mount(root, data, host = {}) {
  return new PairBuilder(root, data, host);
}

function render(context) {
  return renderLive(context, mount, STATE);
}

export { mount, render };
export default { render };
