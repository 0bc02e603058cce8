// The explorer's two large parts: the thumbnails of every head, and one head as a matrix or as lines.
import { el, bytesOf } from "./shared.js";
import { weightOf, shade, percent } from "./weights.js";

export function overview(x) {
  const { layers, heads } = x.data;
  const canvas = el("canvas", { "aria-hidden": "true" });
  const cell = (layer, head) =>
    el("div", {
      role: "gridcell",
      tabindex: -1,
      "aria-label": `Layer ${layer}, head ${head}. ${x.kind({ layer, head })}`,
    });
  const cells = Array.from({ length: layers }, (_, l) => Array.from({ length: heads }, (_, k) => cell(l, k)));
  const rows = cells.map((row) => el("div", { role: "row" }, ...row));
  const grid = el("div", { class: "bb-ae-heads", role: "grid", "aria-label": "Heads: one row a layer" }, ...rows);
  const numbers = (count) => Array.from({ length: count }, (_, i) => el("span", {}, String(i)));
  const node = el(
    "div",
    { class: "bb-ae-overview" },
    el("span", { class: "bb-ae-axis-name", "aria-hidden": "true" }, "layer ↓  head →"),
    el("div", { class: "bb-ae-across", "aria-hidden": "true" }, ...numbers(heads)),
    el("div", { class: "bb-ae-down", "aria-hidden": "true" }, ...numbers(layers)),
    el("div", { class: "bb-ae-sheet" }, canvas, grid),
  );

  const place = new Map(cells.flatMap((row, layer) => row.map((cell, head) => [cell, { layer, head }])));
  const under = (event) => place.get(event.target);
  grid.addEventListener("pointerover", (e) => e.pointerType === "mouse" && under(e) && x.peek(under(e)));
  grid.addEventListener("pointerleave", () => x.peek({}));
  grid.addEventListener("click", (e) => under(e) && x.set(under(e), { say: true }));
  grid.addEventListener("keydown", (e) => {
    const { layer, head } = x.state;
    const to = {
      ArrowUp: [layer - 1, head],
      ArrowDown: [layer + 1, head],
      ArrowLeft: [layer, head - 1],
      ArrowRight: [layer, head + 1],
      Home: [layer, 0],
      End: [layer, heads - 1],
    }[e.key];
    if (!to) return;
    e.preventDefault();
    x.set({ layer: to[0], head: to[1] }, { say: true });
    cells[x.state.layer][x.state.head].focus();
  });

  const GAP = 3;
  let thumb = 0;
  let wait; // the thumbnails still to paint
  let painted; // in which size and colours
  let current = cells[0][0];

  function paint() {
    const dpr = devicePixelRatio || 1;
    const pixels = Math.max(1, Math.round(thumb * dpr));
    const at = (i) => Math.round(i * (thumb + GAP) * dpr);
    canvas.width = at(heads);
    canvas.height = at(layers);
    const context = canvas.getContext("2d", { willReadFrequently: true }); // kept in memory: cheap to write pixels to
    let layer = 0;
    // Long texts have millions of weights: paint for a moment, let the page breathe, go on.
    const some = () => {
      const until = performance.now() + 25;
      for (; layer < layers && performance.now() < until; layer++) {
        const strip = new ImageData(canvas.width, pixels);
        for (let head = 0; head < heads; head++) {
          const bytes = bytesOf(x.data.weights, (layer * heads + head) * x.size ** 2, x.size ** 2);
          shrink(bytes, x.size, pixels, x.scale, strip, at(head));
        }
        context.putImageData(strip, 0, at(layer));
      }
      wait = layer < layers ? setTimeout(some) : null;
    };
    clearTimeout(wait);
    some();
  }

  return {
    node,
    layout() {
      const room = node.clientWidth - 24;
      thumb = Math.floor(Math.max(10, Math.min(40, room / heads - GAP, Math.max(18, 430 / layers - GAP))));
      node.style.setProperty("--thumb", `${thumb}px`);
      node.style.setProperty("--gap", `${GAP}px`);
    },
    draw() {
      const wanted = `${thumb} ${devicePixelRatio} ${x.palette}`;
      if (painted !== wanted) paint();
      painted = wanted;
      const chosen = cells[x.state.layer][x.state.head];
      for (const [cell, on] of [
        [current, false],
        [chosen, true],
      ]) {
        cell.setAttribute("aria-selected", on);
        cell.tabIndex = on ? 0 : -1;
      }
      current = chosen;
    },
  };
}

/**
 * Draw a head of count × count weights as size × size pixels into `strip`, from column `left` on. Where several
 * weights fall on one pixel the largest shows, so that a thin strong line survives.
 */
function shrink(bytes, count, size, scale, strip, left) {
  const pixels = new Uint32Array(strip.data.buffer);
  const from = Uint16Array.from({ length: size }, (_, i) => Math.floor((i * count) / size));
  const to = Uint16Array.from({ length: size }, (_, i) => Math.max(from[i] + 1, Math.floor(((i + 1) * count) / size)));
  for (let y = 0; y < size; y++) {
    for (let x = 0; x < size; x++) {
      let most = 0;
      for (let i = from[y]; i < to[y]; i++) {
        for (let at = i * count + from[x]; at < i * count + to[x]; at++) {
          if (bytes[at] > most) most = bytes[at];
        }
      }
      pixels[y * strip.width + left + x] = scale[most];
    }
  }
}

/** The tokens along one side of the picture, with a rail for each segment. */
function axis(x, side, attributes, optionAttributes = () => ({})) {
  const items = x.labels.map((label, i) =>
    el("li", { title: x.data.tokens[i], ...optionAttributes(i) }, el("span", { dir: "auto" }, label)),
  );
  const list = el("ul", attributes, ...items);
  const rails = x.runs.map(([start, end, name], n) =>
    el(
      "span",
      {
        class: `bb-ae-rail bb-ae-rail-${n % 2}`,
        "aria-hidden": "true",
        style: `--start:${start};--count:${end - start}`,
      },
      name,
    ),
  );
  return { node: el("div", { class: `bb-ae-axis bb-ae-${side}` }, list, ...rails), list, items };
}

export function picture(x) {
  const uid = x.uid;
  const radio = (view, label) =>
    el(
      "label",
      {},
      el("input", { type: "radio", name: `${uid}-view`, value: view, onchange: () => x.set({ view }) }),
      el("span", {}, label),
    );
  const views = el(
    "fieldset",
    { class: "bb-ae-views" },
    el("legend", { class: "bb-sr" }, "Show the head as"),
    radio("matrix", "Matrix"),
    radio("lines", "Lines"),
  );
  const ticks = [0, 0.05, 0.25, 0.5, 1].map((w) => el("span", { style: `left:${100 * shade(w)}%` }, `${100 * w}`));
  const ramp = el("canvas", { width: 256, height: 1 });
  const legend = el(
    "div",
    { class: "bb-ae-legend", role: "img", "aria-label": "Colour scale: weight from 0 to 100 percent" },
    ramp,
    ...ticks,
    el("span", { class: "bb-ae-unit" }, "% of attention"),
  );

  const rows = axis(x, "rows", { role: "listbox", tabindex: 0, "aria-label": "Token in focus" }, (i) => ({
    role: "option",
    id: `${uid}-token-${i}`,
    "aria-selected": "false",
  }));
  const top = axis(x, "top", { "aria-hidden": "true" });
  const right = axis(x, "right", { "aria-hidden": "true" });
  const canvas = el("canvas", { width: x.size, height: x.size });
  const marks = ["row", "column"].map((which) => el("div", { class: `bb-ae-mark bb-ae-mark-${which}` }));
  const seams = x.runs
    .slice(1)
    .flatMap(([start]) =>
      ["row", "column"].map((which) => el("div", { class: `bb-ae-seam bb-ae-seam-${which}`, style: `--i:${start}` })),
    );
  const field = el("div", { class: "bb-ae-field", "aria-hidden": "true" }, canvas, ...seams, ...marks);
  const svg = el("svg", { class: "bb-ae-lines", "aria-hidden": "true" });
  const corner = el(
    "div",
    { class: "bb-ae-corner", "aria-hidden": "true" },
    el("span", {}, "to →"),
    el("span", {}, "from ↓"),
  );
  const stage = el("div", { class: "bb-ae-stage" }, corner, top.node, rows.node, field, svg, right.node);
  const node = el(
    "div",
    { role: "group", class: "bb-ae-picture", "aria-label": "The head's weights" },
    el("div", { class: "bb-ae-bar" }, views, legend),
    stage,
  );

  // Where the pointer is: a token by its label, or a cell of the matrix.
  const indexOf = (axis, event) => axis.items.indexOf(event.target.closest("li"));
  const cellAt = (event) => {
    const box = field.getBoundingClientRect();
    const at = (offset) => Math.max(0, Math.min(x.size - 1, Math.floor((offset / box.width) * x.size)));
    return { focus: at(event.clientY - box.top), key: at(event.clientX - box.left) };
  };
  const keep = ({ focus, key }) => x.set({ focus: focus === x.state.focus ? null : focus }, { say: true, key });
  field.addEventListener("pointermove", (e) => e.pointerType === "mouse" && x.peek(cellAt(e)));
  field.addEventListener("click", (e) => keep(cellAt(e)));
  rows.list.addEventListener("pointermove", (e) => {
    const focus = indexOf(rows, e);
    if (e.pointerType === "mouse" && focus >= 0) x.peek({ focus });
  });
  rows.list.addEventListener("click", (e) => indexOf(rows, e) >= 0 && keep({ focus: indexOf(rows, e) }));
  for (const surface of [field, rows.list]) surface.addEventListener("pointerleave", () => x.peek({}));

  rows.list.addEventListener("keydown", (e) => {
    const last = x.size - 1;
    const { focus } = x.state;
    const step = { ArrowUp: -1, ArrowDown: 1, PageUp: -10, PageDown: 10 }[e.key];
    const across = { ArrowLeft: -1, ArrowRight: 1 }[e.key];
    const within = (i) => Math.max(0, Math.min(last, i));
    if (step) x.set({ focus: focus === null ? (step > 0 ? 0 : last) : within(focus + step) }, { say: true });
    else if (e.key === "Home") x.set({ focus: 0 }, { say: true });
    else if (e.key === "End") x.set({ focus: last }, { say: true });
    else if (across && focus !== null) {
      x.peek({ key: within(x.hover.key == null ? focus : x.hover.key + across) });
      x.spoken.textContent = x.sentence();
    } else return;
    e.preventDefault();
    rows.items[x.state.focus].scrollIntoView({ block: "nearest" }); // long texts scroll within the picture
  });

  const canvasText = el("canvas").getContext("2d");
  let cell = 0;
  let painted; // which head, in which colours

  function paintMatrix() {
    const image = new ImageData(x.size, x.size);
    const pixels = new Uint32Array(image.data.buffer);
    x.bytes().forEach((q, at) => (pixels[at] = x.scale[q]));
    // One pixel a weight; the style sheet scales it.
    canvas.getContext("2d", { willReadFrequently: true }).putImageData(image, 0, 0);
    const strip = new ImageData(256, 1);
    new Uint32Array(strip.data.buffer).set(x.ramp);
    ramp.getContext("2d", { willReadFrequently: true }).putImageData(strip, 0, 0);
  }

  function drawLines() {
    const width = svg.clientWidth;
    const y = (i) => (i + 0.5) * cell;
    const path = ([i, j, q]) => {
      const weight = weightOf(q);
      return el("path", {
        d: `M0 ${y(i)}C${0.45 * width} ${y(i)} ${0.55 * width} ${y(j)} ${width} ${y(j)}`,
        "stroke-width": (0.8 + 4 * weight).toFixed(2),
        "stroke-opacity": Math.max(0.06, Math.sqrt(weight)).toFixed(2),
      });
    };
    svg.replaceChildren(...x.links().map(path));
  }

  return {
    node,
    layout() {
      const asLines = x.state.view === "lines";
      const narrow = x.width < 600;
      canvasText.font = `700 13px ${getComputedStyle(x.root).fontFamily}`;
      const longest = Math.max(...x.labels.map((label) => canvasText.measureText(label).width)) + 10;
      const label = Math.ceil(Math.min(longest, narrow ? 76 : 110));
      const rail = x.runs.length ? 16 : 0;
      const dpr = devicePixelRatio || 1;
      const room = Math.min(node.clientWidth - label - rail - 2, 720);
      // Whole device pixels keep the cells alike; where not even one a token is left, anything goes.
      const fitted = Math.max(0.1, Math.min(28, room / x.size));
      cell = asLines ? 20 : Math.floor(fitted * dpr) / dpr || fitted;
      stage.classList.toggle("bb-ae-as-lines", asLines);
      const set = (name, value) => stage.style.setProperty(name, value);
      set("--cell", `${cell}px`);
      set("--count", x.size);
      set("--label", `${label}px`);
      set("--rail", `${rail}px`);
      set("--font", `${Math.min(13, Math.max(10, 0.82 * cell))}px`);
      const every = Math.ceil(11 / cell); // label as many tokens as there is room for
      for (const { items } of [rows, top, right]) {
        items.forEach((item, i) => item.classList.toggle("bb-ae-skipped", i % every !== 0));
      }
      views.querySelector(`[value=${x.state.view}]`).checked = true;
    },
    draw() {
      const { layer, head, focus, key, view } = x.shown;
      const wanted = `${layer} ${head} ${x.palette}`;
      if (painted !== wanted) paintMatrix();
      painted = wanted;
      if (view === "lines") drawLines();
      rows.items.forEach((item, i) => {
        item.classList.toggle("bb-ae-on", i === focus);
        item.setAttribute("aria-selected", i === x.state.focus);
      });
      rows.list.setAttribute("aria-activedescendant", rows.items[x.state.focus ?? 0].id);
      top.items.forEach((item, j) => item.classList.toggle("bb-ae-on", j === key));
      const given = focus == null ? null : x.row(focus);
      right.items.forEach((item, j) => {
        const weight = given ? weightOf(given[j]) : 0;
        item.classList.toggle("bb-ae-on", weight >= 0.05);
        item.dataset.weight = weight >= 0.05 ? percent(weight) : "";
      });
      marks.forEach((mark, i) => {
        const at = [focus, key][i];
        mark.hidden = at == null;
        mark.style.setProperty("--i", at ?? 0);
      });
    },
  };
}
