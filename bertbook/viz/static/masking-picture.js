// The masking lab's present view as a picture to keep.
import { el } from "./shared.js";
import { svgText } from "./save.js";
import { widthOf } from "./picture-fit.js";
import { EDGES, WITHIN, written, inLines } from "./picture-text.js";

const CARD = 88; // pixels from one line of tokens to the next
const ENDS = [170, 320, 390, 470]; // of the tally's columns
const BARS = 490; // where its bars begin

export function drawMasking({ palette, caption, settings, roll, tokens, joined, heads, rows, help }) {
  const { ink, muted } = palette;
  const parts = [];
  const write = (x, y, content, more = {}) => parts.push(written(EDGES + x, y, content, { fill: ink, ...more }));
  write(0, 28, caption, { size: 15, weight: 600 });
  write(0, 48, settings, { fill: muted });
  write(0, 66, roll);

  const cards = tokens.map((token, i) => {
    const widths = [token.token, token.reads, token.label, token.mark].map((text) => widthOf(text, "600 12px") + 22);
    return { ...token, width: Math.min(WITHIN, Math.max(52, ...widths)), after: joined[i + 1] ? 0 : 8 };
  });
  const placed = inLines(cards);
  for (const { token, fate, reads, label, mark, width, left, line } of placed) {
    const y = 84 + line * CARD;
    const middle = (down, content, more) =>
      write(left + width / 2, y + down, content, { "text-anchor": "middle", most: width - 20, ...more });
    const calm = fate === "left" || fate === "special";
    middle(12, token, { fill: fate === "special" ? muted : ink });
    parts.push(el("rect", { x: EDGES + left, y: y + 17, width, height: 2, fill: palette.line }));
    parts.push(...frames(fate, EDGES + left + 3, y + 24, width - 6, palette));
    const inside = { hidden: palette.background, replaced: palette.focus, special: muted }[fate] ?? ink;
    middle(40, reads, { fill: inside, weight: calm ? 400 : 600 });
    middle(62, label, { fill: calm ? muted : ink });
    middle(76, mark, { size: 11, fill: muted });
  }

  let y = 84 + ((placed.at(-1)?.line ?? 0) + 1) * CARD + 20;
  const cells = (texts, more) =>
    texts.forEach((text, i) => write(ENDS[i], y, text, { "text-anchor": "end", ...more }));
  cells(heads, { fill: muted });
  for (const { title, said, share, expected } of rows) {
    y += 20;
    write(0, y, title);
    cells(said);
    const long = WITHIN - BARS;
    const bar = (left, width, fill, over = 0) =>
      parts.push(el("rect", { x: EDGES + BARS + left, y: y - 9 - over, width, height: 9 + 2 * over, fill }));
    bar(0, long, palette.tint);
    bar(0, long * share, palette.middle);
    bar(long * expected - 1, 2, ink, 2);
  }
  write(0, y + 28, help, { fill: muted });
  const [width, height] = [WITHIN + 2 * EDGES, y + 28 + EDGES];
  return svgText(width, height, [el("rect", { width, height, fill: palette.background }), ...parts]);
}

// As on the page: not told by colour alone.
function frames(fate, x, y, width, { strong, focus, middle }) {
  const all = {
    hidden: [[0, { fill: strong }]],
    replaced: [[1, { stroke: focus, "stroke-width": 2, "stroke-dasharray": "5 3" }]],
    kept: [0.5, 3.5].map((inset) => [inset, { stroke: middle }]),
  };
  return (all[fate] ?? []).map(([inset, more]) => {
    const size = { x: x + inset, y: y + inset, width: width - 2 * inset, height: 24 - 2 * inset };
    return el("rect", { ...size, rx: 6 - inset, fill: "none", ...more });
  });
}
