// A token's parts, their sum and LayerNorm of it, in float64 from the record's numbers. No DOM here.

export const PARTS = ["token", "segment", "position"];

/** How many bytes the record's tables have. */
export const bytesIn = ({ tokens, segmentRows, width }) => 2 * width * (2 * tokens.length + segmentRows + 2);

/** The record's tables as arrays of rows, from two bytes a number. `bytes` is all of them, one after the other. */
export function tablesOf({ tokens, segments, segmentRows, width, scales }, bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = 0;
  const rows = (count, scale) =>
    Array.from({ length: count }, () =>
      Float64Array.from({ length: width }, () => view.getInt16(2 * at++, true) * scale),
    );
  const counts = [tokens.length, segmentRows, tokens.length, 1, 1];
  const [token, segment, position, [weight], [bias]] = counts.map((count, n) => rows(count, scales[n]));
  return { token, segment: segments.map((number) => segment[number]), position, weight, bias };
}

export const lengthOf = (vector) => Math.sqrt(dot(vector, vector));

export const dot = (a, b) => a.reduce((sum, x, i) => sum + x * b[i], 0);

export function cosineOf(a, b) {
  const lengths = lengthOf(a) * lengthOf(b);
  return lengths > 0 ? dot(a, b) / lengths : 0;
}

/** The sum of the parts that are on, for the token at `i`. */
export function sumOf(tables, on, i) {
  const total = new Float64Array(tables.weight.length);
  for (const name of PARTS) if (on[name]) tables[name][i].forEach((x, d) => (total[d] += x));
  return total;
}

export function layerNorm(vector, { weight, bias }, eps) {
  const mean = vector.reduce((sum, x) => sum + x, 0) / vector.length;
  const centred = vector.map((x) => x - mean);
  const divisor = Math.sqrt(dot(centred, centred) / vector.length + eps);
  return centred.map((x, d) => (weight[d] * x) / divisor + bias[d]);
}

/** Each part's share of the sum's squared length: they add up to 1. Zeros where there is no sum. */
export function sharesOf(tables, on, i) {
  const total = sumOf(tables, on, i);
  const whole = dot(total, total);
  return PARTS.map((name) => (on[name] && whole > 0 ? dot(tables[name][i], total) / whole : 0));
}

/** A size that few of the numbers exceed: their 99th percentile, without sign. */
export function reach(vectors) {
  const sizes = Float64Array.from(vectors.flatMap((vector) => [...vector].map(Math.abs))).sort();
  return sizes[Math.floor(0.99 * (sizes.length - 1))] || 1;
}
