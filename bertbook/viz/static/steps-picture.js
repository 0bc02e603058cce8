// The table of the steps as a picture to keep: one SVG for both kinds of file.
import { el, colours } from "./shared.js";
import { svgText } from "./save.js";
import { widthOf, shortened } from "./picture-fit.js";
import { typed } from "./attention-numbers.js";

/** { text, width, height }: the table is read from the page, so that both say the same. */
export function drawSteps(x) {
  const [MARGIN, GAP, LINE] = [16, 26, 22];
  const names = ["backgroundColor", "color", "--bb-muted", "--bb-line", "--bb-tint", "--bb-middle"];
  const [background, ink, muted, line, tint, middle] = colours(x.root, ...names).map((rgb) => `rgb(${rgb})`);
  const parts = [];
  const write = (left, y, content, more) =>
    content && parts.push(el("text", { x: left, y, fill: ink, "dominant-baseline": "central", ...more }, content));
  const box = (left, y, width, height, fill) => parts.push(el("rect", { x: left, y, width, height, fill }));

  const rows = [...x.frame.querySelectorAll("tr")].map((row) => ({ row, cells: cellsOf(row) }));
  const widest = (first, last = first) =>
    Math.max(0, ...rows.flatMap(({ cells }) => cells.filter((c) => c.first === first && c.last === last)).map(widthIn));
  const rights = [0, MARGIN + Math.max(widest(0, 1), widest(0) + GAP + widest(1))]; // where each column ends
  for (let column = 2; column < x.size + 3; column++) rights.push(rights.at(-1) + GAP + widest(column));

  let right = Math.max(rights.at(-1), MARGIN + widthOf(x.data.caption, "600 15px"));
  let y = 22;
  write(MARGIN, y, x.data.caption, { "font-size": 15, "font-weight": 600 });
  y += 6;
  for (const { row, cells } of rows) {
    const heading = row.classList.contains("bb-as-head") && headingOf(row);
    if (heading && row.parentNode.previousSibling.tagName === "TBODY") {
      box(MARGIN, y + 18, rights.at(-1) - MARGIN, 1, line);
    }
    y += heading ? 34 : LINE;
    if (row.classList.contains("bb-as-total")) {
      box(rights[1] + GAP, y - LINE / 2, rights.at(-2) - rights[1] - GAP, 1, muted);
    }
    for (const { cell, first, last, factor, text, bold } of cells) {
      const [from, to] = [rights[first - 1] + GAP, rights[last]];
      const weight = bold ? { "font-weight": 600 } : {};
      if (first === 0) {
        write(MARGIN, y, ...(heading ? [heading.name, { "font-weight": 600 }] : [text, { fill: muted }]));
      } else if (cell.querySelector(".bb-as-track")) {
        box(from, y - 4, to - from, 8, tint);
        box(from, y - 4, (to - from) * x.results.weights[first - 2], 8, middle);
      } else {
        const hidden = cell.matches(".bb-as-hidden") ? { fill: muted, "text-decoration": "line-through" } : {};
        write(from, y, factor, { fill: muted });
        write(to, y, text, { "text-anchor": "end", ...weight, ...hidden });
      }
    }
    if (heading) {
      y += LINE - 4;
      write(MARGIN, y, heading.about, { fill: muted });
      right = Math.max(right, MARGIN + widthOf(heading.about));
    }
  }
  const [width, height] = [Math.ceil(right) + MARGIN, y + LINE];
  return svgText(width, height, [el("rect", { width, height, fill: background }), ...parts]);
}

/** The cells of a row: the columns they reach over, and what they say. */
function cellsOf(row) {
  let columns = 0;
  return [...row.cells].map((cell) => {
    const first = columns;
    columns += cell.colSpan;
    const [tick, given, number] = ["[type=checkbox]", "[type=number]", "data"].map((what) => cell.querySelector(what));
    const entry = given && typed(Number(given.title)); // what counts, also while something else is in the box
    const answer = tick && (tick.checked ? "yes" : "no");
    const name = shortened(cell.textContent, cell.matches("thead th") ? 120 : Infinity, "600 12px");
    const text = number?.textContent ?? entry ?? answer ?? name;
    const bold = cell.matches(".bb-as-strong, thead th");
    return { cell, first, last: columns - 1, factor: number && entry && `× ${entry}`, text, bold };
  });
}

const widthIn = ({ factor, text, bold }) =>
  widthOf(text, bold ? "600 12px" : "12px") + (factor ? widthOf(factor) + 12 : 0);

/** What the row that opens a stage says: its name, then how its switch stands and what the stage does. */
function headingOf(row) {
  const [name, choice, about] = ["b", "label", ".bb-as-about"].map((what) => row.querySelector(what));
  const answer = choice ? `${choice.textContent}: ${choice.firstChild.checked ? "on" : "off"}. ` : "";
  return { name: name.textContent, about: answer + about.textContent };
}
