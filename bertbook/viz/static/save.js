// The present view as a file to keep: one drawing for both kinds.
import { el } from "./shared.js";

export const FONT = "system-ui, -apple-system, 'Segoe UI', 'Noto Sans', 'Noto Sans CJK SC', sans-serif";

/** { text, width, height }: an SVG file that holds the parts. */
export function svgText(width, height, parts) {
  const size = { width, height, viewBox: `0 0 ${width} ${height}` };
  const svg = el("svg", { ...size, "font-family": FONT, "font-size": 12 }, ...parts);
  return { text: new XMLSerializer().serializeToString(svg), width, height };
}

/** Two buttons that hand the reader what `draw()` gives: { text, width, height } of an SVG. `name()`: the file's. */
export function saveButtons(name, draw) {
  const save = (kind) => async () => {
    const picture = draw();
    download(
      `${name()}.${kind}`,
      kind === "svg" ? new Blob([picture.text], { type: "image/svg+xml" }) : await toPng(picture),
    );
  };
  return ["svg", "png"].map((kind) =>
    el("button", { type: "button", onclick: save(kind) }, `Save ${kind.toUpperCase()}`),
  );
}

/** A drawn picture as a PNG blob of twice its size. */
async function toPng({ text, width, height }) {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  await image.decode();
  const canvas = el("canvas", { width: 2 * width, height: 2 * height });
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((done) => canvas.toBlob(done, "image/png"));
}

function download(name, blob) {
  const link = el("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
