// One query's attention in numbers, and how numbers are written. No DOM here.

export const NOTHING = "Every key is masked: there is nothing to share out. All weights are zero, as in the package.";

export const sum = (numbers) => numbers.reduce((total, x) => total + x, 0);

/** Every number on the way from the query to the output. */
export function attention({ query, key, value, mask, scaled }) {
  const products = key.map((entries) => entries.map((k, i) => query[i] * k));
  const scores = products.map(sum);
  const divisor = scaled ? Math.sqrt(query.length) : 1;
  const divided = scores.map((score) => score / divisor);
  const masked = divided.map((score, j) => (mask[j] ? score : -Infinity));
  const largest = Math.max(...masked);
  const exps = masked.map((score) => (score === -Infinity ? 0 : Math.exp(score - largest))); // −∞ − −∞ is NaN
  const total = sum(exps);
  const weights = exps.map((e) => (total > 0 ? e / total : 0));
  const mixed = value.map((entries, j) => entries.map((v) => weights[j] * v));
  const output = value[0].map((_, i) => sum(mixed.map((entries) => entries[i])));
  return { products, scores, divisor, divided, masked, largest, exps, total, weights, mixed, output };
}

/** A number with that many decimals; a small one keeps its first digits, for what rounds to zero is not zero. */
export function written(x, decimals = 3) {
  if (x === -Infinity) return "−∞";
  const size = Math.abs(x);
  const text = size >= 1e5 || (size < 0.0005 && size > 0) ? x.toExponential(1) : (x || 0).toFixed(decimals);
  return text.replaceAll("-", "−").replace("e+", "e");
}

/** What an editable box holds: no more decimals than the number has, and no more than three. */
export const typed = (x) => String(Number(Math.abs(x) < 0.0005 ? x.toPrecision(2) : x.toFixed(3)));

/** The fewest decimals, up to three, that show all of the numbers as they are. */
export const decimalsOf = (numbers) =>
  [0, 1, 2].find((d) => numbers.every((x) => Math.abs(x - Number(x.toFixed(d))) < 1e-9)) ?? 3;
