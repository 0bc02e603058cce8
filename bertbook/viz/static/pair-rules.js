// Documents to pairs by the rules of bertbook.text: segments.py, packing.py, pairs.py and truncate_seq_pair.
// Every draw is made in the same order as there, so that the same random numbers give the same pairs.

const TRIES = 10; // documents looked at for a random segment
const SHORT_RATE = 0.1;
export const LABELS = { nsp: ["IsNext", "NotNext"], sop: ["in order", "swapped"] };

/** Random numbers in [0, 1) that depend on the given whole numbers alone (mulberry32). */
export function randomOf(...where) {
  let state = 0;
  for (const number of where) state = Math.imul(state ^ (number + 1), 0x9e3779b1) >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

const between = (random, from, to) => from + Math.floor(random() * (to - from + 1));

/** Where each sentence ends: ends[i] … ends[i + 1] are the tokens of sentence i. */
export const endsOf = (lengths) => lengths.reduce((ends, length) => [...ends, ends.at(-1) + length], [0]);

export function cutDocument(ends, room, random, giveBack) {
  const count = ends.length - 1;
  const cuts = [];
  let start = 0;
  while (count - start >= 2) {
    const target = random() < SHORT_RATE ? between(random, 2, room) : room;
    let stop = start + 2;
    while (stop < count && ends[stop + 1] - ends[start] <= target) stop++;
    if (count - stop === 1) stop += stop - start === 2 ? 1 : -1; // a sentence alone is no pair
    const lastPair = stop === count && stop - start > 2;
    const middle = between(random, start + 1, stop - (lastPair && giveBack ? 2 : 1));
    const changed = random() < 0.5;
    cuts.push({ start, middle, stop, changed });
    start = changed && giveBack ? middle : stop;
  }
  return cuts;
}

export function cutFromEitherEnd(ends, room, random) {
  if (random() < 0.5) return cutDocument(ends, room, random, false);
  const count = ends.length - 1;
  const mirrored = ends.map((end) => ends[count] - end).reverse();
  return cutDocument(mirrored, room, random, false)
    .reverse()
    .map(({ start, middle, stop, changed }) => ({
      start: count - stop,
      middle: count - middle,
      stop: count - start,
      changed,
    }));
}

/** [difference, start, stop] of a run of sentences that is closest in length, or null. */
export function closestSegment(ends, sentences, tokens, random) {
  const run = Math.min(sentences, ends.length - 2);
  if (run < 1) return null;
  const starts = ends.slice(1, ends.length - run).map((_, i) => i + 1);
  const difference = (start) => Math.abs(ends[start + run] - ends[start] - tokens);
  const least = Math.min(...starts.map(difference));
  const closest = starts.filter((start) => difference(start) === least);
  const start = closest[Math.floor(random() * closest.length)];
  return [least, start, start + run];
}

/** What is kept of two segments so that both fit: [[start, end], [start, end]] of the first and the second. */
export function truncatePair(first, second, room, random) {
  const kept = [
    [0, first],
    [0, second],
  ];
  const length = ([start, end]) => end - start;
  while (length(kept[0]) + length(kept[1]) > room) {
    const longer = length(kept[0]) > length(kept[1]) ? kept[0] : kept[1];
    if (random() < 0.5) longer[0]++;
    else longer[1]--;
  }
  return kept;
}

/** Sequences of whole sentences of one document: [{ start, stop, from, to }], the tokens from … to of the document. */
export function packSentences(ends, room, random) {
  const newTarget = () => (random() < SHORT_RATE ? between(random, 2, room) : room);
  const sequences = [];
  let target = newTarget();
  let now = null;
  for (let index = 0; index < ends.length - 1; index++) {
    for (let from = ends[index]; from < ends[index + 1]; from += room) {
      const to = Math.min(from + room, ends[index + 1]);
      if (now && to - now.from > target) {
        sequences.push(now);
        now = null;
        target = newTarget();
      }
      now = { start: now?.start ?? index, stop: index + 1, from: now?.from ?? from, to };
    }
  }
  return now ? [...sequences, now] : sequences;
}

/**
 * All pairs of one draw. `documents`: [{ source, ends }]. Each pair: { label, parts }, where a part, in the order in
 * which they stand, is { document, start, stop, kept: [from, to] }, the kept tokens counted from those of the part.
 * `next` is, of a NotNext pair, the run of sentences that goes back.
 */
export function pairsOf(documents, { objective, maxLength, seed }) {
  if (objective === "none") {
    return documents.flatMap(({ ends }, document) =>
      packSentences(ends, maxLength - 2, randomOf(seed, document)).map(({ start, stop, from, to }) => ({
        label: null,
        parts: [{ document, start, stop, kept: [from - ends[start], to - ends[start]] }],
      })),
    );
  }
  const room = maxLength - 3;
  return documents.flatMap(({ ends }, document) => {
    const draw = randomOf(seed, document);
    const cuts = objective === "nsp" ? cutDocument(ends, room, draw, true) : cutFromEitherEnd(ends, room, draw);
    return cuts.map((cut, within) => {
      const random = randomOf(seed, document, within);
      const { start, middle, stop, changed } = cut;
      let parts = [
        { document, start, stop: middle },
        { document, start: middle, stop },
      ];
      if (changed && objective === "sop") parts.reverse();
      if (changed && objective === "nsp") parts[1] = randomSegment(documents, document, cut, random);
      const lengths = parts.map((part) => documents[part.document].ends[part.stop] - documents[part.document].ends[part.start]);
      const kept = truncatePair(...lengths, room, random);
      parts = parts.map((part, i) => ({ ...part, kept: kept[i] }));
      const next = changed && objective === "nsp" ? { document, start: middle, stop } : null;
      return { label: Number(changed), parts, next };
    });
  });
}

function randomSegment(documents, document, { middle, stop }, random) {
  const { ends, source } = documents[document];
  const [sentences, tokens] = [stop - middle, ends[stop] - ends[middle]];
  const members = documents.map((_, i) => i).filter((i) => documents[i].source === source && documents[i].ends.length > 2);
  const rank = members.indexOf(document);
  let best = null;
  for (let attempt = 0; attempt < TRIES || !best; attempt++) {
    const drawn = Math.floor(random() * (members.length - 1));
    const other = members[drawn + (drawn >= rank)];
    const [least, from, to] = closestSegment(documents[other].ends, sentences, tokens, random);
    const difference = least + (to - from !== sentences ? tokens : 0);
    if (!best || difference < best.difference) best = { difference, document: other, start: from, stop: to };
    if (difference <= Math.floor(tokens / 20)) break;
  }
  return { document: best.document, start: best.start, stop: best.stop };
}
