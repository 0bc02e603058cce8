// A batch in three layouts, in numbers: what bertbook/viz/layouts.py computes. No DOM here.

export const LAYOUTS = ["padded", "bucketed", "packed"];

const total = (numbers) => numbers.reduce((sum, x) => sum + x, 0);

/** The rows' numbers in groups: sorted by length, then cut into runs whose sizes differ by at most one row. */
export function bucketed(lengths, groups) {
  const order = lengths.map((_, row) => row).sort((a, b) => lengths[a] - lengths[b]); // stable
  const size = Math.floor(order.length / groups);
  const larger = order.length % groups;
  const start = (group) => group * size + Math.min(group, larger);
  return Array.from({ length: groups }, (_, group) => order.slice(start(group), start(group + 1)));
}

/**
 * The batch in each layout: the rows in the order they are computed in, as groups { rows, width }; packed has one
 * group, of rows end to end. With the cost: tokens as a number, operations as BigInt, for they pass 2^53.
 */
export function layoutsOf({ lengths, groups }, { hidden_size, intermediate_size, num_layers }) {
  const all = lengths.map((_, row) => row);
  const [H, F, L] = [hidden_size, intermediate_size, num_layers].map(BigInt);
  const widest = (rows) => rows.reduce((most, row) => Math.max(most, lengths[row]), 0);
  const cost = (widths) => {
    const tokens = total(widths);
    const linear = BigInt(tokens) * L * (8n * H * H + 4n * H * F);
    const attention = BigInt(total(widths.map((width) => width ** 2))) * L * 4n * H;
    return { tokens, linear, attention, flops: linear + attention };
  };
  const inGroups = (parts) => {
    const made = parts.map((rows) => ({ rows, width: widest(rows) }));
    return { groups: made, ...cost(made.flatMap(({ rows, width }) => rows.map(() => width))) };
  };
  return {
    padded: inGroups([all]),
    bucketed: inGroups(bucketed(lengths, groups)),
    packed: { groups: [{ rows: all, width: total(lengths) }], ...cost(lengths) },
  };
}

/** Where each row begins in the packed batch, and where the last one ends. */
export function boundaries(lengths) {
  const starts = [0];
  for (const length of lengths) starts.push(starts.at(-1) + length);
  return starts;
}

/** `rows` lengths drawn from the given ones with replacement; the same for the same seed. */
export function drawn(given, rows, seed) {
  let state = seed | 0;
  const next = () => {
    // mulberry32, by Tommy Ettinger
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
  return Array.from({ length: rows }, () => given[Math.floor(next() * given.length)]);
}

export const whole = (number) => number.toLocaleString("en");

/** Writes numbers of operations in three digits, all in the unit that suits `largest`: "0.914 GFLOP". */
export function operations(largest) {
  const units = ["FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP", "PFLOP", "EFLOP"];
  const power = Math.min(units.length - 1, Math.floor((String(largest).length - 1) / 3));
  return (flops) => `${power ? (Number(flops) / 1000 ** power).toPrecision(3) : flops} ${units[power]}`;
}

/** How much of what is computed is padding: "1,538, 38%". */
export function padding(tokens, real) {
  const percent = (100 * (tokens - real)) / tokens;
  return percent === 0 ? "none" : `${whole(tokens - real)}, ${percent < 0.5 ? "<1" : Math.round(percent)}%`;
}

/** How many times one cost is another. BigInt divides whole numbers only, and Number is exact enough for a ratio. */
export const times = (flops, of) => `${(Number(flops) / Number(of)).toFixed(2)} ×`;
