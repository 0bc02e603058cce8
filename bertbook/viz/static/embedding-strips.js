// One token's vectors as strips of colour under each other, and one dimension of them in numbers.
import { el } from "./shared.js";
import { written } from "./attention-numbers.js";
import { PARTS, lengthOf } from "./embedding-numbers.js";

const percentOf = (share) => `${Math.round(100 * share)}%`;

export function strips(x) {
  const rows = ["token", "segment", "position", "sum", "norm"].map((name) => strip(x, name));
  return {
    node: el("div", { class: "bb-es-strips" }, ...rows.map((row) => row.node), legend(x)),
    draw: () => rows.forEach((row) => row.draw()),
  };
}

function strip(x, name) {
  const part = PARTS.indexOf(name);
  const { width } = x.data;
  const canvas = el("canvas", { width, height: 1, role: "img" });
  const mark = el("span", { class: "bb-es-mark" });
  const said = el("span");
  const number = el("div", { class: "bb-es-number" });
  const toggle =
    part < 0
      ? null
      : el("input", { type: "checkbox", onchange: () => x.set({ [name]: toggle.checked }, { say: true }) });
  const title = el(toggle ? "label" : "span", {}, toggle, said);
  const signs = { segment: "+", position: "+", sum: "=", norm: "→" };
  const sign = el("span", { class: "bb-es-sign", "aria-hidden": "true" }, signs[name] ?? "");
  const move = (event) => {
    const { left, width: across } = canvas.getBoundingClientRect();
    x.look?.(Math.min(width - 1, Math.max(0, Math.floor((width * (event.clientX - left)) / across))));
  };
  const holder = el("div", { class: "bb-es-strip", onpointermove: move, onpointerdown: move }, canvas, mark);
  const node = el("div", { class: "bb-es-row" }, el("div", { class: "bb-es-name" }, sign, title), holder, number);
  x.marks = [...(x.marks ?? []), mark];

  const titles = {
    token: () => `token “${x.labels[x.shown]}”`,
    segment: () => `segment ${x.data.segments[x.shown]}`,
    position: () => `position ${x.shown}`,
    sum: () => "sum",
    norm: () => "LayerNorm",
  };
  return {
    node,
    draw() {
      const vector = x.current[name];
      const on = part < 0 || x.state[name];
      said.textContent = titles[name]();
      said.title = said.textContent;
      if (toggle) toggle.checked = on;
      node.classList.toggle("bb-es-off", !on);
      const length = `length ${written(lengthOf(vector), 2)}`;
      const more = { norm: x.current.likeness === null ? "" : `cosine ${written(x.current.likeness, 2)} with all` };
      if (part >= 0) more[name] = on ? `${percentOf(x.current.shares[part])} of the sum` : "off";
      number.replaceChildren(el("span", {}, length), more[name] ? el("span", {}, more[name]) : "");
      canvas.setAttribute("aria-label", `${width} numbers of ${said.textContent}, ${length}; they stand in the table`);
      const image = new ImageData(width, 1);
      const pixels = new Uint32Array(image.data.buffer);
      const limit = x.limits[name === "norm" ? "norm" : "part"];
      vector.forEach((value, d) => (pixels[d] = x.pixel(value, limit)));
      canvas.getContext("2d").putImageData(image, 0, 0);
    },
  };
}

function legend(x) {
  const to = (limit) => `±${written(limit, 2)}`;
  const text = `Blue is above zero, orange below. Strongest from ${to(x.limits.part)} on, after LayerNorm from ${to(x.limits.norm)} on.`;
  return el("p", { class: "bb-es-legend" }, text);
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
