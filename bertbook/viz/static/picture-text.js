// What pictures of tokens share: colours, a line of text, boxes in lines.
import { el, colours } from "./shared.js";
import { shortened } from "./picture-fit.js";

export const EDGES = 16; // pixels around a picture
export const WITHIN = 720; // pixels between them

export function inks(root) {
  const names = ["muted", "line", "tint", "middle", "strong", "focus"];
  const found = colours(root, "backgroundColor", "color", ...names.map((name) => `--bb-${name}`));
  return Object.fromEntries(["background", "ink", ...names].map((name, i) => [name, `rgb(${found[i]})`]));
}

export function written(x, y, content, { most = WITHIN, size = 12, weight = 400, ...more }) {
  const text = shortened(content, most, `${weight} ${size}px`);
  return el("text", { x, y, "font-size": size, "font-weight": weight, ...more }, text);
}

/** Boxes, each `after` pixels before the next, with `left` and `line` added. */
export function inLines(boxes, most = WITHIN) {
  let [left, line] = [0, 0];
  return boxes.map(({ after, ...box }) => {
    if (left && left + box.width > most) [left, line] = [0, line + 1];
    const placed = { ...box, left, line };
    left += box.width + after;
    return placed;
  });
}
