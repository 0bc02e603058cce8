// How wide a text of a picture to keep is, and what of it fits.
import { el } from "./shared.js";
import { FONT } from "./save.js";

/** How wide a text of a picture is, in this browser's fonts. */
export function widthOf(text, style = "12px") {
  const context = el("canvas").getContext("2d");
  context.font = `${style} ${FONT}`;
  return context.measureText(text).width;
}

/** A text of a picture, cut where it is wider than `most`. */
export function shortened(text, most, style) {
  if (widthOf(text, style) <= most) return text;
  const letters = [...text].slice(0, most); // none is narrower than a pixel
  while (letters.length && widthOf(`${letters.join("")}…`, style) > most) letters.pop();
  return `${letters.join("")}…`;
}
