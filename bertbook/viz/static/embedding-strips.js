// One token's vectors as strips of colour under each other, and one dimension of them in numbers.
// What the strips say and how they are painted is the picture's to keep, too.
import { el } from "./shared.js";
import { written } from "./attention-numbers.js";
import { PARTS, lengthOf } from "./embedding-numbers.js";

export const STRIPS = [...PARTS, "sum", "norm"];
export const SIGNS = { token: "", segment: "+", position: "+", sum: "=", norm: "→" };

const percentOf = (share) => `${Math.round(100 * share)}%`;

export const isOn = (x, name) => !PARTS.includes(name) || x.state[name];

export function titleOf(x, name) {
  if (name === "token") return `token “${x.labels[x.shown]}”`;
  return {
    segment: `segment ${x.data.segments[x.shown]}`,
    position: `position ${x.shown}`,
    sum: "sum",
    norm: "LayerNorm",
  }[name];
}

/** What stands beside a strip: its length, and where there is more to say, that. */
export function besides(x, name) {
  const { likeness, shares } = x.current;
  const length = `length ${written(lengthOf(x.current[name]), 2)}`;
  const more = { norm: likeness === null ? "" : `cosine ${written(likeness, 2)} with all` };
  const part = PARTS.indexOf(name);
  if (part >= 0) more[name] = isOn(x, name) ? `${percentOf(shares[part])} of the sum` : "off";
  return [length, more[name] ?? ""];
}

/** Paint a strip on a canvas that has one pixel a number. */
export function paintStrip(canvas, x, name) {
  const vector = x.current[name];
  const image = new ImageData(vector.length, 1);
  const pixels = new Uint32Array(image.data.buffer);
  const limit = x.limits[name === "norm" ? "norm" : "part"];
  vector.forEach((value, d) => (pixels[d] = x.pixel(value, limit)));
  canvas.getContext("2d").putImageData(image, 0, 0);
}

export function legendOf({ limits }) {
  const to = (limit) => `±${written(limit, 2)}`;
  return `Blue is above zero, orange below. Strongest from ${to(limits.part)} on, after LayerNorm from ${to(limits.norm)} on.`;
}

export function strips(x) {
  const rows = STRIPS.map((name) => strip(x, name));
  const legend = el("p", { class: "bb-es-legend" }, legendOf(x));
  return {
    node: el("div", { class: "bb-es-strips" }, ...rows.map((row) => row.node), legend),
    draw: () => rows.forEach((row) => row.draw()),
  };
}

function strip(x, name) {
  const { width } = x.data;
  const canvas = el("canvas", { width, height: 1, role: "img" });
  const mark = el("span", { class: "bb-es-mark" });
  const said = el("span");
  const number = el("div", { class: "bb-es-number" });
  const toggle = PARTS.includes(name)
    ? el("input", { type: "checkbox", onchange: () => x.set({ [name]: toggle.checked }, { say: true }) })
    : null;
  const title = el(toggle ? "label" : "span", {}, toggle, said);
  const sign = el("span", { class: "bb-es-sign", "aria-hidden": "true" }, SIGNS[name]);
  const move = (event) => {
    const { left, width: across } = canvas.getBoundingClientRect();
    x.look?.(Math.min(width - 1, Math.max(0, Math.floor((width * (event.clientX - left)) / across))));
  };
  const holder = el("div", { class: "bb-es-strip", onpointermove: move, onpointerdown: move }, canvas, mark);
  const node = el("div", { class: "bb-es-row" }, el("div", { class: "bb-es-name" }, sign, title), holder, number);
  x.marks = [...(x.marks ?? []), mark];
  return {
    node,
    draw() {
      const on = isOn(x, name);
      said.textContent = titleOf(x, name);
      said.title = said.textContent;
      if (toggle) toggle.checked = on;
      node.classList.toggle("bb-es-off", !on);
      const [length, more] = besides(x, name);
      number.replaceChildren(el("span", {}, length), more ? el("span", {}, more) : "");
      canvas.setAttribute("aria-label", `${width} numbers of ${said.textContent}, ${length}; they stand in the table`);
      paintStrip(canvas, x, name);
    },
  };
}

/** One dimension of the five vectors, chosen by a slider or by the pointer. */
export function dimension(x) {
  const last = x.data.width - 1;
  const slider = el("input", {
    type: "range",
    min: 0,
    max: last,
    id: `${x.uid}-dimension`,
    oninput: () => x.look(slider.valueAsNumber),
  });
  const readout = el("p", { class: "bb-es-readout" });
  const draw = () => {
    const d = x.dimension;
    const { token, segment, position, sum, norm } = x.current;
    const terms = [token, segment, position].filter((_, n) => x.state[PARTS[n]]).map((vector) => vector[d]);
    const signed = terms.map((value, n) =>
      n ? `${value < 0 ? "−" : "+"} ${written(Math.abs(value))}` : written(value),
    );
    const equation = `${signed.join(" ") || "nothing"} = ${written(sum[d])}; after LayerNorm ${written(norm[d])}`;
    slider.value = d;
    slider.setAttribute("aria-valuetext", `${d}: ${equation}`);
    readout.replaceChildren(el("b", {}, `Dimension ${d}`), ` ${equation}`);
    for (const mark of x.marks) mark.style.left = `${(100 * (d + 0.5)) / x.data.width}%`;
  };
  x.look = (d) => {
    if (d === x.dimension) return;
    x.dimension = d;
    draw();
  };
  const label = el("label", { for: slider.id }, "Dimension");
  return { node: el("div", { class: "bb-es-dimension" }, label, slider, readout), draw };
}
