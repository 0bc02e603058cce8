// The masking lab: a text under 15% · 80/10/10, rolled as often as the reader likes, and the tally of all rolls.
import { el, followTheme, fromAddress, addressWith, followAddress, renderLive } from "./shared.js";
import { saveButtons } from "./save.js";
// Joined only where it is named here: what the picture needs.
import {} from "./picture-fit.js";
import { visible } from "./weights.js";
import { Draws, firsts, fatesOf, tally, FATES } from "./masking-draws.js";
import { inks } from "./picture-text.js";
import { drawMasking } from "./masking-picture.js";

const STATE = ["text", "rate", "mask_share", "random_share", "whole_words", "seed", "rolls"]; // MaskingPolicy's names
const MARKS = { hidden: "■", replaced: "◆", kept: "●" };
const HELP = "A token’s box holds what the model reads; below it stands its label. −100 says that nothing is asked.";

const shareText = (share, digits = 1) => `${(100 * share).toFixed(digits).replace(/\.0+$/, "")}%`;
const grouped = (count) => count.toLocaleString("en");
const plural = (count, noun) => `${grouped(count)} ${noun}${count === 1 ? "" : "s"}`;

class Lab {
  constructor(root, data, host) {
    Object.assign(this, { root, data, host });
    // Element ids must differ between all widgets of a page, also when each brings its own module.
    this.uid = `bb-ml-${Math.random().toString(36).slice(2)}`;
    this.state = { ...data.initial, ...this.legal({ ...data.state, ...host.state }) };
    const linked = host.live ? null : this.linkedState();
    Object.assign(this.state, linked);
    this.parts = []; // what follows the state: functions of the results

    root.classList.add("bb-widget");
    const caption = el("p", { class: "bb-caption", id: `${this.uid}-caption` }, data.caption);
    this.spoken = el("p", { class: "bb-sr", "aria-live": "polite" });
    this.frame = el("div", { class: "bb-ml", role: "group", "aria-labelledby": caption.id }, caption);
    this.frame.setAttribute("data-lm-suppress-shortcuts", "true"); // or JupyterLab moves between cells on arrow keys
    this.frame.append(this.choices(), this.sliders(), this.picture(), this.buttons(), this.tally(), this.twin());
    this.frame.append(this.foot(), this.spoken);
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

  /** The given values, less those that the masking could not do with. */
  legal(values) {
    const { limits, texts } = this.data;
    const whole = (least, most) => (value) => Number.isInteger(value) && value >= least && value <= most;
    const share = (value) => typeof value === "number" && value >= 0 && value <= 1;
    const kinds = {
      text: whole(0, texts.length - 1),
      rate: share,
      mask_share: share,
      random_share: share,
      whole_words: (value) => typeof value === "boolean",
      seed: whole(0, limits.seed),
      rolls: whole(1, limits.rolls),
    };
    return Object.fromEntries(Object.entries(values).filter(([name, value]) => kinds[name]?.(value)));
  }

  /** Take the state over from the reader or from Python, and tell everyone else. */
  set(values, { fromHost = false, say = "" } = {}) {
    const legal = this.legal(values);
    const changes = Object.fromEntries(Object.entries(legal).filter(([name, value]) => value !== this.state[name]));
    const changed = Object.keys(changes).length > 0;
    if (fromHost && !changed) return; // the echo of what the reader did
    Object.assign(this.state, changes);
    this.draw();
    if (changed && !fromHost) this.host.onState?.(changes);
    if (changed || say) this.spoken.textContent = say + this.sentence();
  }

  draw() {
    const { texts, samples } = this.data;
    const { seed, rolls } = this.state;
    const text = texts[this.state.text];
    if (this.draws?.seed !== seed || this.draws.index !== this.state.text) {
      this.draws = new Draws(seed, this.state.text, text.tokens.length);
    }
    const places = firsts(text.words, this.state.whole_words);
    const fates = fatesOf(this.draws.roll(rolls - 1), text, places, this.state);
    const sample = samples[text.sample];
    const drawn = this.draws.drawn(rolls - 1, sample.length);
    const tokens = text.tokens.map((token, i) => {
      const fate = fates[i];
      const reads = { hidden: this.data.mask, replaced: sample[drawn[i]] }[fate] ?? token;
      const mark = fate in MARKS ? `${MARKS[fate]} ${fate}` : fate === "special" ? "special" : "";
      const label = fate in MARKS ? visible(token) : "−100";
      return { token: visible(token), fate, reads: visible(reads), label, mark };
    });
    const joined = places.map((place, i) => place !== i);
    const now = Object.fromEntries(FATES.map((fate) => [fate, fates.filter((one) => one === fate).length]));
    const free = fates.filter((fate) => fate !== "special").length;
    const rows = this.counted(now, tally(this.draws, rolls, text, places, this.state));
    const heads = ["this roll", plural(rolls, "roll"), "share", "expected"];
    const roll = `roll ${grouped(rolls)}: ${rows[0].said[0]} of ${plural(free, "token")} chosen`;
    this.results = { tokens, joined, free, rows, heads, roll };
    for (const part of this.parts) part(this.results);
  }

  /** The tally's rows, from the counts of this roll and of all: { title, share, expected, said }. */
  counted(now, all) {
    const sum = (counts) => FATES.reduce((total, fate) => total + counts[fate], 0);
    const row = (title, one, count, of, expected) => {
      const share = of && count / of;
      const said = [String(one), `${grouped(count)} of ${grouped(of)}`, of ? shareText(share) : "–", shareText(expected)];
      return { title, share, expected, said };
    };
    const { rate, mask_share: hidden, random_share: replaced } = this.state;
    const expected = { hidden, replaced, kept: this.keptShare() };
    const fates = FATES.map((fate) => row(`${MARKS[fate]} ${fate}`, now[fate], all[fate], sum(all), expected[fate]));
    return [row("chosen", sum(now), sum(all), sum(all) + all.left, rate), ...fates];
  }

  /** What came out, for the ear. */
  sentence() {
    const { tokens, free } = this.results;
    const chosen = tokens.filter(({ fate }) => fate in MARKS);
    const said = chosen.map(({ token, fate, reads }) => `${token} ${fate === "replaced" ? `becomes ${reads}` : fate}`);
    const which = chosen.length ? `: ${said.join(", ")}` : "";
    return `Roll ${this.state.rolls}. Chosen ${chosen.length} of ${free}${which}.`;
  }

  // ---- the parts ----

  choices() {
    const texts = this.data.texts.map(({ tokens, special }, i) => {
      const said = tokens.filter((_, at) => !special[at]).map(visible);
      const short = said.length > 12 ? `${said.slice(0, 12).join(" ")} …` : said.join(" ");
      return el("option", { value: i }, short || `text ${i}`);
    });
    const select = el("select", { onchange: () => this.set({ text: Number(select.value) }) }, ...texts);
    const words = el("input", { type: "checkbox", role: "switch" });
    words.addEventListener("change", () => this.set({ whole_words: words.checked }));
    const seed = el("input", { type: "number", min: 0, max: this.data.limits.seed, step: 1 });
    seed.addEventListener("input", () => {
      const value = seed.value === "" ? NaN : Number(seed.value);
      if ("seed" in this.legal({ seed: value })) {
        seed.removeAttribute("aria-invalid");
        this.set({ seed: value });
      } else seed.setAttribute("aria-invalid", "true");
    });
    seed.addEventListener("change", () => {
      if (!seed.hasAttribute("aria-invalid")) return;
      this.spoken.textContent = `Needed: a whole number from 0 to ${this.data.limits.seed}. Back to ${this.state.seed}.`;
      seed.removeAttribute("aria-invalid");
      seed.value = this.state.seed;
    });
    this.parts.push(() => {
      select.value = this.state.text;
      words.checked = this.state.whole_words;
      if (!seed.hasAttribute("aria-invalid") && Number(seed.value || NaN) !== this.state.seed) seed.value = this.state.seed;
    });
    return el(
      "div",
      { class: "bb-ml-choices" },
      texts.length > 1 ? el("label", { class: "bb-ml-text" }, "text ", select) : null,
      el("label", {}, words, " whole words"),
      el("label", {}, "seed ", seed),
    );
  }

  sliders() {
    const slider = (name, title, least, change) => {
      // No <output>: the label would be taken for its own. The slider says the value itself.
      const output = el("span", { class: "bb-ml-value", "aria-hidden": "true" });
      const input = el("input", { type: "range", min: least, max: 100, step: 1 });
      input.addEventListener("input", () => this.set(change(Number(input.value))));
      this.parts.push(() => {
        const share = this.state[name];
        input.value = Math.round(100 * share);
        output.textContent = shareText(share);
        input.setAttribute("aria-valuetext", shareText(share));
      });
      return el("label", { class: "bb-ml-slider" }, el("span", {}, title, " ", output), input);
    };
    // Shares of one whole: raising one takes from the kept first, then from the other.
    const against = (name, other) => (value) => ({
      [name]: value / 100,
      [other]: Math.min(this.state[other], (100 - value) / 100),
    });
    const kept = el("span", { class: "bb-ml-value" });
    this.parts.push(() => (kept.textContent = shareText(this.keptShare())));
    return el(
      "div",
      { class: "bb-ml-sliders" },
      slider("rate", "chosen", 1, (value) => ({ rate: value / 100 })),
      slider("mask_share", `${MARKS.hidden} hidden`, 0, against("mask_share", "random_share")),
      slider("random_share", `${MARKS.replaced} replaced`, 0, against("random_share", "mask_share")),
      el("p", { class: "bb-ml-kept" }, `${MARKS.kept} kept `, kept),
    );
  }

  keptShare() {
    return Math.max(0, 1 - this.state.mask_share - this.state.random_share);
  }

  picture() {
    const list = el("ol", { class: "bb-ml-tokens", "aria-label": "tokens" });
    this.parts.push(({ tokens, joined }) => {
      const cards = tokens.map(({ token, fate, reads, label, mark }, i) =>
        el(
          "li",
          { "data-fate": fate, class: joined[i + 1] ? "bb-ml-goes-on" : null },
          el("bdi", { class: "bb-ml-was" }, token),
          el("span", { class: "bb-sr" }, ", the model reads "),
          el("bdi", { class: "bb-ml-now" }, reads),
          el("span", { class: "bb-sr" }, ", label "),
          el("bdi", { class: "bb-ml-label" }, label),
          el("span", { class: "bb-ml-fate" }, mark || "\u00a0"),
        ),
      );
      list.replaceChildren(...cards);
    });
    return list;
  }

  buttons() {
    const { rolls: most } = this.data.limits;
    const button = (count, text) => {
      const node = el("button", { type: "button" }, text);
      node.addEventListener("click", () => this.set({ rolls: Math.min(most, this.state.rolls + count) }));
      this.parts.push(() => (node.disabled = this.state.rolls >= most));
      return node;
    };
    const said = el("span", { class: "bb-ml-roll" });
    this.parts.push(({ roll }) => (said.textContent = roll));
    const all = [button(1, "Roll"), button(100, "100 rolls"), button(1000, "1000 rolls")];
    return el("div", { class: "bb-ml-buttons" }, ...all, said);
  }

  tally() {
    const four = (make) => Array.from({ length: 4 }, make);
    const titles = four(() => el("th", { scope: "col" }));
    this.parts.push(({ heads }) => titles.forEach((title, i) => (title.textContent = heads[i])));
    const lines = ["chosen", ...FATES].map((_, at) => {
      const head = el("th", { scope: "row" });
      const cells = four(() => el("td"));
      const fill = el("span", { class: "bb-ml-fill" });
      const aim = el("span", { class: "bb-ml-aim" });
      this.parts.push(({ rows }) => {
        const { title, share, expected, said } = rows[at];
        head.textContent = title;
        cells.forEach((cell, i) => (cell.textContent = said[i]));
        fill.style.width = `${100 * share}%`;
        aim.style.left = `${100 * expected}%`;
      });
      const track = el("td", { "aria-hidden": "true" }, el("div", { class: "bb-ml-track" }, fill, aim));
      return el("tr", {}, head, ...cells, track);
    });
    const caption = el("caption", { class: "bb-sr" }, "Tally of all rolls");
    const head = el("thead", {}, el("tr", {}, el("td"), ...titles, el("td")));
    return el("table", { class: "bb-ml-tally" }, caption, head, el("tbody", {}, ...lines));
  }

  /** The picture and the tally as an SVG to keep, with what the controls say. */
  drawn() {
    const settings = this.results.rows.map(({ title, said }) => `${title} ${said[3]}`);
    if (this.state.whole_words) settings.push("whole words");
    settings.push(`seed ${this.state.seed}`);
    return drawMasking({
      ...this.results,
      palette: inks(this.root),
      caption: this.data.caption,
      settings: settings.join(", "),
      help: HELP,
    });
  }

  /** The picture once more, as a table. */
  twin() {
    const body = el("tbody");
    this.parts.push(({ tokens }) => {
      const rows = tokens.map(({ token, fate, reads, label }, i) => {
        const said = { left: "not chosen" }[fate] ?? fate;
        const cells = [token, said, reads, label].map((text) => el("td", {}, el("bdi", {}, text)));
        return el("tr", {}, el("th", { scope: "row" }, i), ...cells);
      });
      body.replaceChildren(...rows);
    });
    const heads = ["position", "token", "fate", "the model reads", "label"];
    const head = el("thead", {}, el("tr", {}, ...heads.map((text) => el("th", { scope: "col" }, text))));
    const scroll = el("div", { class: "bb-ml-scroll" }, el("table", { class: "bb-ml-twin" }, head, body));
    return el("details", {}, el("summary", {}, "This roll as a table"), scroll);
  }

  /** The state that the page's address asks for, or null. */
  linkedState() {
    const parts = (fromAddress(this.data.id) ?? "").split(";");
    if (parts.length !== STATE.length) return null;
    const read = (part, i) => (STATE[i] === "whole_words" ? { 0: false, 1: true }[part] : part ? Number(part) : NaN);
    const state = this.legal(Object.fromEntries(parts.map((part, i) => [STATE[i], read(part, i)])));
    const whole = state.mask_share + state.random_share <= 1 + 1e-9;
    return Object.keys(state).length === STATE.length && whole ? state : null;
  }

  foot() {
    const link = this.host.live ? null : el("a", {}, "Link to this roll");
    const address = () => addressWith(this.data.id, STATE.map((name) => Number(this.state[name])).join(";"));
    this.parts.push(() => link?.setAttribute("href", address()));
    const reset = () => this.set(this.data.initial, { say: "Back to the start. " });
    const save = saveButtons(() => `${this.data.id}-roll-${this.state.rolls}`, () => this.drawn());
    const actions = [el("button", { type: "button", onclick: reset }, "Reset"), ...save, link];
    return el("div", { class: "bb-foot" }, el("p", {}, HELP), el("p", { class: "bb-actions" }, ...actions));
  }
}

/** Show `data` in `root`. `host`: { live, state, onState(changes) }. Returns { set(state), destroy() }. */
function mount(root, data, host = {}) {
  return new Lab(root, data, host);
}

function render(context) {
  return renderLive(context, mount, STATE);
}

export { mount, render };
export default { render };
