// Which positions are alike: the cosine of each two rows of the position table, as a map.
import { el, bytesOf } from "./shared.js";
import { written } from "./attention-numbers.js";

export function positionMap(x) {
  const size = x.data.positions;
  const bytes = bytesOf(x.data.cosines, 0, size ** 2);
  const cosine = (a, b) => bytes[a * size + b] / 127.5 - 1;
  const canvas = el("canvas", { width: size, height: size, role: "img" });
  canvas.setAttribute("aria-label", `Cosines between positions 0 to ${size - 1}; two sliders read them out`);
  const row = el("span", { class: "bb-es-cross bb-es-cross-row" });
  const column = el("span", { class: "bb-es-cross bb-es-cross-column" });
  const readout = el("p", { class: "bb-es-readout" });
  let kept = [x.state.focus, Math.min(size - 1, x.state.focus + 1)];
  let followed = x.state.focus; // the first of the two follows the token in focus

  const slider = (n, text) => {
    const input = el("input", {
      type: "range",
      min: 0,
      max: size - 1,
      id: `${x.uid}-position-${n}`,
      oninput: () => keep(n ? [kept[0], input.valueAsNumber] : [input.valueAsNumber, kept[1]]),
    });
    return { input, node: el("div", {}, el("label", { for: input.id }, text), input) };
  };
  const sliders = [slider(0, "Position"), slider(1, "and position")];

  function show([a, b]) {
    const text = `${written(cosine(a, b), 2)}`;
    readout.replaceChildren(el("b", {}, `Positions ${a} and ${b}`), ` cosine ${text}`);
    row.style.top = `${(100 * (a + 0.5)) / size}%`;
    column.style.left = `${(100 * (b + 0.5)) / size}%`;
    sliders.forEach(({ input }, n) => {
      input.value = [a, b][n];
      input.setAttribute("aria-valuetext", `${[a, b][n]}, cosine ${text} with position ${[b, a][n]}`);
    });
  }
  function keep(pair) {
    kept = pair;
    show(kept);
  }
  const at = (event) => {
    const { left, top, width } = canvas.getBoundingClientRect();
    const place = (offset) => Math.min(size - 1, Math.max(0, Math.floor((size * offset) / width)));
    return [place(event.clientY - top), place(event.clientX - left)];
  };
  const map = el(
    "div",
    {
      class: "bb-es-map",
      onpointermove: (e) => show(at(e)),
      onpointerleave: () => show(kept),
      onclick: (e) => keep(at(e)),
    },
    canvas,
    row,
    column,
  );
  const about = el("p", {}, "Which positions are alike? Each pixel is the cosine of two rows of the position table.");
  const axis = el(
    "p",
    { class: "bb-es-axis", "aria-hidden": "true" },
    el("span", {}, "0"),
    el("span", {}, "position"),
    el("span", {}, String(size - 1)),
  );
  const side = el("div", { class: "bb-es-side" }, about, ...sliders.map(({ node }) => node), readout);
  return {
    node: el(
      "div",
      { class: "bb-es-positions", role: "group", "aria-label": "Positions" },
      el("div", {}, map, axis),
      side,
    ),
    draw() {
      const image = new ImageData(size, size);
      const pixels = new Uint32Array(image.data.buffer);
      bytes.forEach((q, n) => (pixels[n] = x.pixel(q / 127.5 - 1, 1)));
      canvas.getContext("2d").putImageData(image, 0, 0);
      if (followed !== x.state.focus) kept = [x.state.focus, kept[1]];
      followed = x.state.focus;
      show(kept);
    },
  };
}
