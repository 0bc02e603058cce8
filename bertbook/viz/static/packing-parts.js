// The parts of the packing widget: each is { node, layout?, draw? }, over the widget x.
import { el } from "./shared.js";
import { LAYOUTS, boundaries, padding, times, whole } from "./packing-numbers.js";
import { picture } from "./packing-views.js";

const button = (label, name, onclick) => el("button", { type: "button", "aria-label": name, onclick }, label);

/** Groups, rows, another batch. */
export function controls(x) {
  const groups = el("input", { type: "range", min: 1, id: `${x.uid}-groups` });
  const chosen = el("output", { for: groups.id });
  const rows = el("output");
  const source = el("span", { class: "bb-pe-source" });
  groups.addEventListener("input", () => x.set({ groups: +groups.value }, { say: x.title("bucketed") }));
  return {
    node: el(
      "div",
      { role: "group", class: "bb-pe-controls", "aria-label": "The batch" },
      el("span", { class: "bb-pe-pair" }, el("label", { for: groups.id }, "Groups"), groups, chosen),
      el(
        "span",
        { class: "bb-pe-pair" },
        "Rows",
        button("−", "One row less", () => x.addRows(-1)),
        rows,
        button("+", "One row more", () => x.addRows(1)),
      ),
      el(
        "span",
        { class: "bb-pe-pair" },
        el("button", { type: "button", onclick: () => x.another() }, "Draw another batch"),
        el("button", { type: "button", onclick: () => x.reset() }, "Reset"),
        source,
      ),
    ),
    draw() {
      groups.max = x.state.lengths.length;
      groups.value = x.state.groups;
      groups.disabled = x.state.lengths.length === 1;
      chosen.value = x.state.groups;
      rows.value = x.state.lengths.length;
      source.textContent = `The lengths are ${x.source()}.`;
    },
  };
}

/** The three pictures, each with its title and its numbers. */
export function pictures(x) {
  const panels = LAYOUTS.map((layout) => panel(x, layout));
  const node = el("div", { role: "radiogroup", class: "bb-pe-panels", "aria-label": "Layouts" });
  node.append(...panels.map((one) => one.node));
  return {
    node,
    layout() {
      // 12 and 2 pixels of each picture are for the mark and for the frame of the row in focus.
      x.measure(Math.min(...panels.map(({ field }) => field.clientWidth)) - 14);
    },
    draw: () => panels.forEach((one) => one.draw()),
  };
}

function panel(x, layout) {
  const radio = el("input", { type: "radio", name: `${x.uid}-layout`, value: layout });
  radio.addEventListener("change", () => x.set({ layout }));
  const title = el("span");
  const drawing = picture(x, layout);
  const field = el("div", { class: "bb-pe-field" }, drawing.node);
  const list = layout === "padded" ? rowList(x) : null;
  if (list) field.append(list.node);

  let pressed = null; // where the pointer went down on a row; in the padded picture, rows can be dragged from there
  field.addEventListener("pointermove", (event) => {
    if (pressed && list && Math.abs(event.clientX - pressed.x) > 3) pressed.dragged = true;
    if (pressed?.dragged) {
      // Rows may become longer than the longest was, so the place is measured from the left edge, not by what is hit.
      const length = Math.round(pressed.across + (event.clientX - pressed.x) / x.cell.width);
      x.peek({ row: pressed.row, lengths: x.lengthsWith(pressed.row, length) });
    } else if (event.pointerType === "mouse") {
      const hit = drawing.under(event);
      x.peek(hit ? { row: hit.row, position: hit.position } : {});
    }
  });
  const release = () => ((pressed = null), x.peek({}));
  field.addEventListener("pointerleave", () => (pressed && list) || release()); // a captured pointer has not left
  field.addEventListener("pointerdown", (event) => {
    const hit = drawing.under(event);
    if (!hit || event.button !== 0) return;
    pressed = { ...hit, x: event.clientX };
    if (list) field.setPointerCapture(event.pointerId);
  });
  field.addEventListener("pointercancel", release);
  field.addEventListener("pointerup", () => {
    if (!pressed) return;
    const { row, dragged } = pressed;
    pressed = null;
    if (dragged) x.setLength(row, x.shown.lengths[row]);
    else x.set({ focus: x.state.focus === row ? null : row }, { say: true });
  });

  const rows = [
    ["Computed", ({ tokens }) => [tokens, `${whole(tokens)} tokens`]],
    ["Padding", ({ tokens }) => [tokens - x.layouts.packed.tokens, padding(tokens, x.layouts.packed.tokens)]],
    ["Linear layers", ({ linear }) => [linear, x.operations(linear)], "bb-pe-linear"],
    ["Attention", ({ attention }) => [attention, x.operations(attention)], "bb-pe-attention"],
    ["Together", ({ flops }) => [flops, x.operations(flops)]],
    [
      "Against packed",
      ({ flops }) => [Number(flops) / Number(x.layouts.packed.flops), times(flops, x.layouts.packed.flops)],
    ],
  ].map(([name, read, key]) => ({ name, read, key, value: el("data") }));
  const numbers = rows.map(({ name, key, value }) =>
    el("div", {}, el("dt", {}, key ? el("i", { class: key }) : null, name), el("dd", {}, value)),
  );
  const [linear, attention] = ["bb-pe-linear", "bb-pe-attention"].map((name) => el("span", { class: name }));
  const bar = el("div", { class: "bb-pe-bar", "aria-hidden": "true" }, linear, attention);
  return {
    field,
    node: el(
      "section",
      { class: `bb-pe-panel bb-pe-${layout}` },
      el("label", { class: "bb-pe-title" }, radio, title),
      field,
      el("div", { class: "bb-pe-numbers" }, bar, el("dl", {}, ...numbers)),
    ),
    draw() {
      radio.checked = x.state.layout === layout;
      title.textContent = x.title(layout);
      drawing.draw();
      list?.draw(drawing.height());
      const { padded, [layout]: own } = x.layouts;
      for (const { read, value } of rows) {
        const [exact, text] = read(own);
        value.value = String(exact);
        value.textContent = text;
      }
      linear.style.width = `${(100 * Number(own.linear)) / Number(padded.flops)}%`;
      attention.style.width = `${(100 * Number(own.attention)) / Number(padded.flops)}%`;
    },
  };
}

/** The rows of the padded picture as a list over it, for keys and for the ear. */
function rowList(x) {
  const node = el("ul", { role: "listbox", tabindex: 0, "aria-label": "Rows, padded" });
  let options = [];
  node.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const { focus, lengths } = x.state;
    const last = lengths.length - 1;
    const go = (to) => x.set({ focus: Math.max(0, Math.min(last, to)) }, { say: true });
    const change = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    const step = { ArrowUp: -1, ArrowDown: 1, PageUp: -10, PageDown: 10 }[event.key];
    if (event.key === "Escape") x.set({ focus: null });
    else if (event.key === "Home" || event.key === "End") go(event.key === "Home" ? 0 : last);
    else if (step) go(focus === null ? (step > 0 ? 0 : last) : focus + step);
    else if (change && focus !== null) x.setLength(focus, lengths[focus] + change * (event.shiftKey ? 10 : 1));
    else return;
    event.preventDefault();
  });
  return {
    node,
    draw(height) {
      const { lengths } = x.shown;
      if (options.length !== lengths.length) {
        options = lengths.map((_, row) => el("li", { role: "option", id: `${x.uid}-row-${row}` }));
        node.replaceChildren(...options);
      }
      node.style.height = `${height + 2}px`;
      options.forEach((option, row) => {
        const label = `Row ${row}, ${lengths[row]} token${lengths[row] > 1 ? "s" : ""}`;
        if (option.getAttribute("aria-label") !== label) option.setAttribute("aria-label", label);
        option.setAttribute("aria-selected", String(row === x.state.focus));
      });
      if (x.state.focus === null) node.removeAttribute("aria-activedescendant");
      else node.setAttribute("aria-activedescendant", options[x.state.focus].id);
    },
  };
}

/** One row: its number and length to type, where it stands in each layout, and its tokens. */
export function rowPanel(x) {
  const box = (name, min, taken) => {
    const input = el("input", { type: "number", min, step: 1, id: `${x.uid}-${name}` });
    let typing = false; // what is half typed stays, whatever the pointer passes over
    input.addEventListener("input", () => (typing = true));
    input.addEventListener("change", () => {
      typing = false;
      const { valueAsNumber: number, max } = input;
      if (Number.isInteger(number) && number >= min && number <= +max) return taken(number);
      x.draw(); // back to what it was
      x.spoken.textContent = `Needed: a whole number from ${min} to ${max}.`;
    });
    const show = (value) => typing || (input.value = value ?? "");
    return { input, show };
  };
  const { input: row, show: showRow } = box("row", 0, (focus) => x.set({ focus }, { say: true }));
  const { input: length, show: showLength } = box("length", 1, (value) => x.setLength(x.state.focus, value));
  const by = (step) => () => x.setLength(x.state.focus, x.state.lengths[x.state.focus] + step);
  const steps = [button("−", "One token less", by(-1)), button("+", "One token more", by(1))];
  const said = el("p");
  const text = el("p", { class: "bb-pe-text" });
  return {
    node: el(
      "div",
      { role: "group", class: "bb-pe-row", "aria-label": "One row" },
      el("span", { class: "bb-pe-pair" }, el("label", { for: row.id }, "Row"), row),
      el("span", { class: "bb-pe-pair" }, el("label", { for: length.id }, "Length"), steps[0], length, steps[1]),
      el("div", { class: "bb-pe-said" }, said, text),
    ),
    draw() {
      const { focus, lengths } = x.shown;
      row.max = lengths.length - 1;
      showRow(focus);
      length.max = x.data.limits.length;
      showLength(lengths[focus]);
      for (const node of [length, ...steps]) node.disabled = x.state.focus === null;
      said.textContent = x.sentence() || "Choose a row to see where it stands in each layout.";
      const names = focus === null ? null : x.named(focus)?.slice(0, lengths[focus]);
      const at = x.hover.position;
      const marked = (name, i) => (i === at ? el("mark", {}, name) : name);
      text.hidden = !names;
      text.replaceChildren(...(names ?? []).flatMap((name, i) => [el("bdi", {}, marked(name, i)), " "]));
    },
  };
}

/** The tensors that the chosen layout makes. */
export function description(x) {
  const holder = el("div", { class: "bb-pe-told", tabindex: 0, role: "group", "aria-label": "The tensors" });
  const shape = (...sizes) => el("code", {}, `(${sizes.join(", ")})`);
  const told = {
    padded: (rows, width, H) => ["One batch of vectors, ", shape(rows, width, H), ": each row as long as the longest."],
    bucketed(rows, width, H) {
      const { groups } = x.layouts.bucketed;
      const shapes = groups.flatMap((group, i) => [i ? ", " : "", shape(group.rows.length, group.width, H)]);
      const many = groups.length > 1;
      return [many ? `${groups.length} batches, one after the other: ` : "One batch: ", ...shapes, "."];
    },
    packed(rows, width, H) {
      const { focus, lengths } = x.shown;
      const ends = boundaries(lengths);
      const marked = (end, i) =>
        focus !== null && (i === focus || i === focus + 1) ? el("mark", {}, end) : String(end);
      const list = ends.flatMap((end, i) => [i ? ", " : "", marked(String(end), i)]);
      const cu = el("code", { class: "bb-pe-cu" }, "cu_seqlens = [", ...list, "]");
      return ["One row of vectors, ", shape(ends.at(-1), H), ", and where each text begins and ends: ", cu];
    },
  };
  return {
    node: holder,
    draw() {
      const { layout, lengths } = x.shown;
      const width = x.layouts.padded.groups[0].width;
      holder.replaceChildren(
        el("b", {}, x.title(layout)),
        " ",
        ...told[layout](lengths.length, width, x.data.hidden_size),
      );
    },
  };
}

/** The same numbers as tables. */
export function table(x) {
  const holder = el("div", { class: "bb-pe-scroll", tabindex: 0, role: "group", "aria-label": "The batch as tables" });
  const node = el("details", { ontoggle: () => draw() }, el("summary", {}, "Show as tables"), holder);
  const head = (scope, text) => el("th", { scope }, text);
  const make = (caption, columns, rows) =>
    el(
      "table",
      {},
      el("caption", {}, caption),
      el("thead", {}, el("tr", {}, ...columns.map((text) => head("col", text)))),
      el(
        "tbody",
        {},
        ...rows.map(([first, ...rest]) => el("tr", {}, head("row", first), ...rest.map((v) => el("td", {}, v)))),
      ),
    );

  function draw() {
    if (!node.open) return;
    const { lengths } = x.shown;
    const real = x.layouts.packed.tokens;
    const layouts = LAYOUTS.map((layout) => {
      const { tokens, linear, attention, flops } = x.layouts[layout];
      return [x.title(layout), ...[tokens, tokens - real, linear, attention, flops].map(whole)];
    });
    const ends = boundaries(lengths);
    const groupOf = [];
    x.layouts.bucketed.groups.forEach(({ rows, width }, place) =>
      rows.forEach((row) => (groupOf[row] = [place, width])),
    );
    const { width } = x.layouts.padded.groups[0];
    const rows = lengths.map((length, row) => {
      const [place, widest] = groupOf[row];
      return [row, length, width - length, place, widest - length, ends[row], ends[row + 1]].map(String);
    });
    holder.replaceChildren(
      make(
        "The layouts",
        ["Layout", "Tokens", "Padding", "Linear, FLOP", "Attention, FLOP", "Together, FLOP"],
        layouts,
      ),
      make("The rows", ["Row", "Length", "Padding", "Group", "Padding in group", "Packed from", "to before"], rows),
    );
  }
  return { node, draw };
}
