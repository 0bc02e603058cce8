// The explorer's present view as a picture to keep: one SVG for both kinds of file.
import { el, colours } from "./shared.js";
import { svgText } from "./save.js";

const MARGIN = 16;
const shorten = (label) => (label.length > 16 ? `${label.slice(0, 15)}…` : label);

/** { text, width, height }: the head as a matrix or as lines, with its title and its tokens. */
export function drawPicture({ root, view, layer, head, focus, labels, runs, caption, size, bytes, scale, links }) {
  const [background, ink, muted, strong, mark] = colours(
    root,
    "backgroundColor",
    "color",
    "--bb-muted",
    "--bb-strong",
    "--bb-focus",
  ).map((rgb) => `rgb(${rgb})`);
  const cell = view === "lines" ? 20 : Math.max(12, Math.min(26, 640 / size));
  const side =
    8 + 8 * Math.max(...labels.map((label) => [...shorten(label)].reduce((sum, c) => sum + (c > "⺀" ? 1.7 : 1), 0)));
  const across = view === "lines" ? 260 : size * cell;
  const left = MARGIN + side;
  const top = 56 + (view === "lines" ? 0 : side);
  const width = Math.max(left + across + (view === "lines" ? side : 0) + MARGIN, 360);
  const height = top + size * cell + MARGIN;

  const text = (x, y, content, more = {}) =>
    el("text", { x, y, fill: ink, "dominant-baseline": "central", ...more }, content);
  const middle = (i) => top + (i + 0.5) * cell;
  const parts = [
    el("rect", { width, height, fill: background }),
    text(MARGIN, 20, caption, { "font-size": 15, "font-weight": 600 }),
    text(MARGIN, 40, `Layer ${layer}, head ${head}${focus === null ? "" : `, from “${labels[focus]}”`}`, {
      fill: muted,
    }),
  ];
  const weight = (i) => (i === focus ? { "font-weight": 700, fill: mark } : {});
  labels.forEach((label, i) =>
    parts.push(text(left - 6, middle(i), shorten(label), { "text-anchor": "end", ...weight(i) })),
  );
  if (view === "lines") {
    labels.forEach((label, j) => parts.push(text(left + across + 6, middle(j), shorten(label))));
    for (const [i, j, q] of links) {
      const share = (q / 255) ** 2;
      const [y, to] = [middle(i), middle(j)];
      const d = `M${left} ${y}C${left + 117} ${y} ${left + 143} ${to} ${left + across} ${to}`;
      parts.push(
        el("path", {
          d,
          fill: "none",
          stroke: strong,
          "stroke-width": 0.8 + 4 * share,
          "stroke-opacity": Math.sqrt(share),
        }),
      );
    }
  } else {
    labels.forEach((label, j) => {
      const x = left + (j + 0.5) * cell;
      parts.push(text(x, top - 6, shorten(label), { transform: `rotate(-90 ${x} ${top - 6})` }));
    });
    const image = { href: matrixImage(bytes, size, scale), x: left, y: top, width: across, height: across };
    parts.push(el("image", { ...image, preserveAspectRatio: "none", style: "image-rendering: pixelated" }));
    const seam = { fill: "none", stroke: muted, "stroke-dasharray": "4 3" };
    for (const [start] of runs.slice(1)) {
      const at = start * cell;
      parts.push(el("path", { ...seam, d: `M${left} ${top + at}h${across}M${left + at} ${top}v${across}` }));
    }
    if (focus !== null) {
      parts.push(
        el("rect", {
          x: left,
          y: top + focus * cell,
          width: across,
          height: cell,
          fill: "none",
          stroke: mark,
          "stroke-width": 1.5,
        }),
      );
    }
  }
  return svgText(width, height, parts);
}

function matrixImage(bytes, size, scale) {
  // Some viewers smooth images whatever the file asks for: enough pixels a cell keep its edges.
  const zoom = Math.max(1, Math.floor(1024 / size));
  const canvas = el("canvas", { width: size * zoom, height: size * zoom });
  const image = new ImageData(size * zoom, size * zoom);
  const pixels = new Uint32Array(image.data.buffer);
  const cellOf = (at) => Math.floor(at / zoom);
  for (let y = 0; y < size * zoom; y++) {
    for (let x = 0; x < size * zoom; x++) pixels[y * size * zoom + x] = scale[bytes[cellOf(y) * size + cellOf(x)]];
  }
  canvas.getContext("2d").putImageData(image, 0, 0);
  return canvas.toDataURL();
}
