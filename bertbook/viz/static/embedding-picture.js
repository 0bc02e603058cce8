// The strips of the token on screen as a picture to keep: one SVG for both kinds of file.
import { el, colours } from "./shared.js";
import { svgText } from "./save.js";
import { widthOf, shortened } from "./picture-fit.js";
import { STRIPS, SIGNS, isOn, titleOf, besides, paintStrip, legendOf } from "./embedding-strips.js";

/** { text, width, height }: the token's strips, what stands beside them, and what their colours mean. */
export function drawSum(x) {
  const [MARGIN, NAME, STRIP, NUMBER, ROW] = [16, 180, 576, 130, 38];
  const names = ["backgroundColor", "color", "--bb-muted", "--bb-line"];
  const [background, ink, muted, line] = colours(x.root, ...names).map((rgb) => `rgb(${rgb})`);
  const text = (left, y, content, more) =>
    el("text", { x: left, y, fill: ink, "dominant-baseline": "central", ...more }, content);
  const inner = Math.max(NAME + STRIP + 12 + NUMBER, Math.ceil(widthOf(x.data.caption, "600 15px")));
  const parts = [
    text(MARGIN, 22, x.data.caption, { "font-size": 15, "font-weight": 600 }),
    text(MARGIN, 44, shortened(x.named(x.shown), inner), { fill: muted }),
  ];
  STRIPS.forEach((name, n) => {
    const [left, top, tall] = [MARGIN + NAME, 64 + n * ROW, 28];
    const middle = top + tall / 2;
    const [length, more] = besides(x, name);
    const off = isOn(x, name) ? {} : { "text-decoration": "line-through" };
    const box = { x: left, y: top, width: STRIP, height: tall };
    const image = { ...box, href: stripImage(x, name), preserveAspectRatio: "none", opacity: isOn(x, name) ? 1 : 0.3 };
    const beside = left + STRIP + 12;
    parts.push(
      text(MARGIN, middle, SIGNS[name], { fill: muted }),
      text(MARGIN + 16, middle, shortened(titleOf(x, name), NAME - 28), off),
      el("image", { ...image, style: "image-rendering: pixelated" }),
      el("rect", { ...box, fill: "none", stroke: line }),
      text(beside, more ? middle - 7 : middle, length),
      more && text(beside, middle + 8, more, { fill: muted }),
    );
  });
  const below = 64 + STRIPS.length * ROW + 10;
  parts.push(text(MARGIN, below, legendOf(x), { fill: muted }));
  const [width, height] = [inner + 2 * MARGIN, below + 10 + MARGIN];
  return svgText(width, height, [el("rect", { width, height, fill: background }), ...parts.filter(Boolean)]);
}

function stripImage(x, name) {
  // Some viewers smooth images whatever the file asks for: enough pixels a number keep its edges.
  const zoom = Math.max(1, Math.floor(1536 / x.data.width));
  const small = el("canvas", { width: x.data.width, height: 1 });
  paintStrip(small, x, name);
  const canvas = el("canvas", { width: zoom * small.width, height: 16 });
  const context = canvas.getContext("2d");
  context.imageSmoothingEnabled = false;
  context.drawImage(small, 0, 0, canvas.width, canvas.height);
  return canvas.toDataURL();
}
