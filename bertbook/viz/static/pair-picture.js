// The pair builder's present view as a picture to keep: the pair, where its segments lie, and what was cut.
import { el } from "./shared.js";
import { svgText } from "./save.js";
import { widthOf } from "./picture-fit.js";
import { EDGES, WITHIN, written, inLines } from "./picture-text.js";

const [CHIP, SIDE, NAMES] = [44, 18, 190]; // a line of tokens, a box of a sentence, the names of documents

/** { text, width, height }. `lines`: what is said, as [text, more]; `chips` and `documents` with kinds as on the page. */
export function drawPair({ palette, caption, settings, lines, chips, hint, documents }) {
  const { ink, muted } = palette;
  const parts = [];
  const write = (x, y, content, more = {}) => parts.push(written(EDGES + x, y, content, { fill: ink, ...more }));
  write(0, 28, caption, { size: 15, weight: 600 });
  write(0, 48, settings, { fill: muted });
  let y = 54;
  for (const [text, more] of lines) write(0, (y += 20), text, more);

  y += 16;
  const weight = ({ kind }) => (kind === "special" ? 600 : 400);
  const placed = inLines(
    chips.map((chip) => {
      const width = 14 + Math.max(widthOf(chip.text, `${weight(chip)} 12px`), widthOf(chip.below, "10.5px"));
      return { ...chip, width: Math.min(WITHIN, width), after: 4 };
    }),
  );
  for (const chip of placed) {
    const [top, middle] = [y + chip.line * CHIP, chip.left + chip.width / 2];
    parts.push(...outlines(chip.kind, EDGES + chip.left, top, chip.width, CHIP - 6, palette));
    const struck = chip.kind === "cut" ? { fill: muted, "text-decoration": "line-through" } : {};
    const centred = { "text-anchor": "middle", most: chip.width - 10 };
    write(middle, top + 16, chip.text, { ...centred, weight: weight(chip), ...struck });
    write(middle, top + 31, chip.below, { ...centred, size: 10.5, fill: muted });
  }

  y += ((placed.at(-1)?.line ?? 0) + 1) * CHIP + 18;
  write(0, y, hint, { fill: muted });
  y += 10;
  for (const { name, used, boxes } of documents) {
    const row = inLines(boxes.map((box) => ({ ...box, width: SIDE, after: 2 })), WITHIN - NAMES);
    write(0, y + 13, name, { most: NAMES - 12, fill: used ? ink : muted });
    for (const { kind, mark, left, line } of row) {
      const top = y + line * (SIDE + 2);
      parts.push(...outlines(kind, EDGES + NAMES + left, top, SIDE, SIDE, palette));
      if (mark) write(NAMES + left + SIDE / 2, top + 13, mark, { "text-anchor": "middle", size: 11 });
    }
    y += ((row.at(-1)?.line ?? 0) + 1) * (SIDE + 2) + 4;
  }
  const [width, height] = [WITHIN + 2 * EDGES, y + EDGES];
  return svgText(width, height, [el("rect", { width, height, fill: palette.background }), ...parts]);
}

/** As on the page: A is outlined, B is filled on a thick line, what is cut or goes back is dashed. */
function outlines(kind, x, y, width, height, { ink, muted, line, tint, middle }) {
  const frame = (stroke, more) =>
    el("rect", { x: x + 0.5, y: y + 0.5, width: width - 1, height: height - 1, rx: 4, fill: "none", stroke, ...more });
  const dashes = { "stroke-dasharray": "3 2" };
  if (kind === "b") return [frame(ink, { fill: tint }), el("rect", { x: x + 1, y: y + height - 3, width: width - 2, height: 3, fill: ink })];
  if (kind === "special") return [];
  return [{ a: frame(middle), cut: frame(muted, dashes), next: frame(ink, dashes), none: frame(line) }[kind]];
}
