// What the bytes of a record mean, and how its weights and tokens are written. No DOM here.

/** The weight that a byte stands for. */
export const weightOf = (q) => (q / 255) ** 2;

/**
 * Where a weight lies on the colour scale, 0 to 1. Less than linear, so that the small weights of long texts stay
 * visible; more than the root, so that a head that looks at everything alike stays pale. The legend shows it.
 */
export const shade = (weight) => weight ** 0.6;

/** As many digits as one byte can back: whole percents, tenths where weights are small. */
export function percent(weight) {
  const p = 100 * weight;
  if (p === 0) return "0%";
  if (p < 0.05) return "<0.1%";
  return p < 1.5 ? `${p.toFixed(1)}%` : `${Math.round(p)}%`;
}

/** Something to see for tokens that show nothing. */
export function visible(token) {
  if (token === "") return "(empty)";
  return token.trim() === "" ? "␣".repeat(token.length) : token;
}

/** [start, end, name] for each run of tokens of one segment; none where the text is a single one. */
export function segmentRuns(segments) {
  if (new Set(segments).size < 2) return [];
  const runs = [];
  segments.forEach((segment, i) => {
    if (i === 0 || segment !== segments[i - 1])
      runs.push([i, i, segment < 26 ? String.fromCharCode(65 + segment) : segment]);
    runs.at(-1)[1] = i + 1;
  });
  return runs;
}

/** The `count` largest weights of a head, as [query, key, q], largest first. */
export function strongest(bytes, size, count) {
  const howMany = new Uint32Array(256);
  for (const q of bytes) howMany[q]++;
  let least = 255;
  for (let sum = howMany[255]; sum < count && least > 1;) sum += howMany[--least];
  const found = [];
  bytes.forEach((q, at) => q >= least && found.push([Math.floor(at / size), at % size, q]));
  return found.sort((a, b) => b[2] - a[2]).slice(0, count);
}
