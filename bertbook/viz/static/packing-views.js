// The three pictures of a batch: one token is one cell of the same size in all of them. Drawn on canvas, or as SVG.
import { el } from "./shared.js";
import { svgText } from "./save.js";
import { LAYOUTS, padding, times, whole } from "./packing-numbers.js";

const GAP = 4; // pixels between groups
const EDGE = 12; // pixels on the left, for the mark of the row in focus

/**
 * A layout as pieces to draw, in tokens and lines: `real` tokens of a row, the first of them its token `from`, then
 * `spare` of padding. Neighbours differ in `tone`. A packed batch is one line; here it goes on below, like text, every
 * `width` tokens.
 */
export function piecesOf(layout, lengths, groups, width) {
  const pieces = [];
  if (layout !== "packed") {
    let line = 0;
    groups.forEach(({ rows, width: widest }, group) => {
      for (const row of rows) {
        const real = lengths[row];
        const tone = (layout === "padded" ? row : line) % 2;
        pieces.push({ row, from: 0, line: line++, column: 0, real, spare: widest - real, group, tone });
      }
    });
    return pieces;
  }
  let at = 0;
  lengths.forEach((length, row) => {
    for (let from = 0; from < length;) {
      const column = at % width;
      const real = Math.min(length - from, width - column);
      pieces.push({ row, from, line: Math.floor(at / width), column, real, spare: 0, group: 0, tone: row % 2 });
      from += real;
      at += real;
    }
  });
  return pieces;
}

/** One picture: { node, layout(width, height), draw(), under(event) }. */
export function picture(x, layout) {
  const canvas = el("canvas", { "aria-hidden": "true" });
  let pieces = [];

  const top = ({ line, group }) => line * x.cell.height + group * GAP;
  const linesOf = () => (pieces.length ? pieces.at(-1).line + 1 : 0);
  const height = () => linesOf() * x.cell.height + (pieces.at(-1)?.group ?? 0) * GAP;

  function draw() {
    const { lengths } = x.shown;
    pieces = piecesOf(layout, lengths, x.layouts[layout].groups, x.width);
    const dpr = devicePixelRatio || 1;
    const [w, h] = [EDGE + x.width * x.cell.width + 2, height() + 2];
    canvas.width = Math.round(w * dpr);
    canvas.height = Math.round(h * dpr);
    canvas.style.width = `${w}px`;
    canvas.style.height = `${h}px`;
    const context = canvas.getContext("2d");
    context.scale(dpr, dpr);
    paint(context, { x, pieces, top, dpr });
  }

  /** What lies under the pointer: { row, position }; position is null on padding. Null beside the rows. */
  function under(event) {
    const box = canvas.getBoundingClientRect();
    const across = (event.clientX - box.left - EDGE) / x.cell.width;
    const down = event.clientY - box.top - 1;
    const hit = pieces.find(
      (piece) =>
        down >= top(piece) &&
        down < top(piece) + x.cell.height &&
        across >= piece.column &&
        across < piece.column + piece.real + piece.spare,
    );
    if (!hit) return null;
    const position = hit.from + Math.floor(across - hit.column);
    return { row: hit.row, position: position < x.shown.lengths[hit.row] ? position : null, across };
  }

  return { node: canvas, draw, under, height };
}

function paint(context, { x, pieces, top, dpr }) {
  const { palette, cell, shown } = x;
  const snap = (pixels) => Math.round(pixels * dpr) / dpr;
  const hatch = context.createPattern(hatching(palette, dpr), "repeat");
  hatch.setTransform(new DOMMatrix().scale(1 / dpr));
  const seam = cell.height >= 4 ? 1 / dpr : 0;
  const box = (piece, column, count) => {
    const [left, right] = [EDGE + column * cell.width, EDGE + (column + count) * cell.width].map(snap);
    const [above, below] = [1 + top(piece), 1 + top(piece) + cell.height].map(snap);
    return [left, above, right - left, below - above - seam];
  };
  context.textBaseline = "middle";
  context.font = `${Math.min(13, cell.height * 0.62)}px system-ui, sans-serif`;
  for (const piece of pieces) {
    const { row, from, column, real, spare, tone } = piece;
    const names = x.named(row);
    context.fillStyle = (names && cell.named ? palette.pale : palette.rows)[tone];
    context.fillRect(...box(piece, column, real));
    if (spare) {
      context.fillStyle = hatch;
      context.fillRect(...box(piece, column + real, spare));
    }
    // A line where a row begins: told apart without colour too.
    if (from === 0 && column > 0) {
      context.fillStyle = palette.background;
      const [left, above, , tall] = box(piece, column, real);
      context.fillRect(left - 0.75, above, 1.5, tall);
    }
    if (names && cell.named) {
      context.fillStyle = palette.ink;
      for (let i = 0; i < real && from + i < names.length; i++) {
        const [left, above, wide, tall] = box(piece, column + i, 1);
        context.fillText(fitting(context, names[from + i], wide - 6), left + 3, above + tall / 2);
      }
    }
  }
  const chosen = pieces.filter(({ row }) => row === shown.focus);
  context.strokeStyle = context.fillStyle = palette.focus;
  context.lineWidth = 2;
  for (const piece of chosen) {
    const [left, above, wide, tall] = box(piece, piece.column, piece.real + piece.spare);
    context.strokeRect(left, above, wide, Math.max(tall, 1));
  }
  if (chosen.length) {
    const middle = 1 + top(chosen[0]) + cell.height / 2;
    context.fill(new Path2D(`M1 ${middle - 5}L9 ${middle}L1 ${middle + 5}Z`));
  }
}

/** A tile of diagonal lines: padding. */
function hatching(palette, dpr) {
  const side = Math.round(6 * dpr);
  const tile = el("canvas", { width: side, height: side });
  const context = tile.getContext("2d");
  context.fillStyle = palette.tint;
  context.fillRect(0, 0, side, side);
  context.strokeStyle = palette.muted;
  context.globalAlpha = 0.55;
  context.lineWidth = dpr;
  for (const shift of [-side, 0, side]) {
    context.moveTo(shift, side);
    context.lineTo(shift + side, 0);
  }
  context.stroke();
  return tile;
}

function fitting(context, text, width) {
  if (context.measureText(text).width <= width) return text;
  const letters = [...text];
  while (letters.length && context.measureText(`${letters.join("")}…`).width > width) letters.pop();
  return `${letters.join("")}…`;
}

/** The three pictures and their numbers as an SVG to keep. */
export function drawPacking(x) {
  const { lengths, focus } = x.state;
  const [MARGIN, COLUMN, LINE] = [16, 300, 18];
  const { palette } = x;
  const cell = { width: COLUMN / x.width, height: Math.max(1.5, Math.min(14, 320 / lengths.length)) };
  const text = (left, top, content, more = {}) => el("text", { x: left, y: top, fill: palette.ink, ...more }, content);
  const hatch = el(
    "pattern",
    { id: "padding", width: 6, height: 6, patternUnits: "userSpaceOnUse" },
    el("rect", { width: 6, height: 6, fill: palette.tint }),
    el("path", { d: "M0 6L6 0M-1 1L1 -1M5 7L7 5", stroke: palette.muted, "stroke-opacity": 0.55 }),
  );
  const parts = [el("defs", {}, hatch), text(MARGIN, 26, x.data.caption, { "font-size": 15, "font-weight": 600 })];
  let bottom = 0;
  LAYOUTS.forEach((layout, n) => {
    const left = MARGIN + n * (COLUMN + 24);
    const { groups, tokens, linear, attention, flops } = x.layouts[layout];
    const { packed } = x.layouts;
    const words = [
      [x.title(layout), { "font-weight": 600 }],
      [`${whole(tokens)} tokens; padding ${padding(tokens, packed.tokens)}`],
      [`linear ${x.operations(linear)}, attention ${x.operations(attention)}`],
      [`together ${x.operations(flops)}, ${times(flops, packed.flops)} packed`],
    ];
    words.forEach(([line, more], i) => parts.push(text(left, 56 + i * LINE, line, more)));
    for (const piece of piecesOf(layout, lengths, groups, x.width)) {
      const above = 124 + piece.line * cell.height + piece.group * GAP;
      const rect = (column, count, more) =>
        el("rect", {
          x: left + column * cell.width,
          y: above,
          width: count * cell.width,
          height: cell.height * 0.92,
          ...more,
        });
      parts.push(rect(piece.column, piece.real, { fill: palette.rows[piece.tone] }));
      if (piece.spare) parts.push(rect(piece.column + piece.real, piece.spare, { fill: "url(#padding)" }));
      if (piece.from === 0 && piece.column > 0) {
        const line = { width: 1, height: cell.height * 0.92, fill: palette.background };
        parts.push(el("rect", { x: left + piece.column * cell.width - 0.5, y: above, ...line }));
      }
      if (piece.row === focus) {
        const mark = { fill: "none", stroke: palette.focus, "stroke-width": 2 };
        parts.push(rect(piece.column, piece.real + piece.spare, mark));
      }
      bottom = Math.max(bottom, above + cell.height);
    }
  });
  const [width, height] = [2 * MARGIN + 3 * COLUMN + 48, bottom + MARGIN];
  return svgText(width, height, [el("rect", { width, height, fill: palette.background }), ...parts]);
}
