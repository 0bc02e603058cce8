// What the masking draws, and what becomes of each token: the same numbers as MaskingPolicy's, bit by bit. No DOM here.

// SplitMix64, on BigInts of 64 bits. bertbook/text/draws.py says why each number is computed from its place.
const WHOLE = (1n << 64n) - 1n;
const GAMMA = 0x9e3779b97f4a7c15n;

function number(key, place) {
  let x = (key + (place + 1n) * GAMMA) & WHOLE;
  x = ((x ^ (x >> 30n)) * 0xbf58476d1ce4e5b9n) & WHOLE;
  x = ((x ^ (x >> 27n)) * 0x94d049bb133111ebn) & WHOLE;
  return x ^ (x >> 31n);
}

const keyOf = (...parts) => parts.reduce((key, part) => number(key, BigInt(part)), 0n);

/** The draws of one text under one seed, roll after roll, kept once they are made. */
export class Draws {
  constructor(seed, index, size) {
    Object.assign(this, { seed, index, size, rolls: [] });
  }

  /** Roll number `roll`: { lots, fates }, a number from 0 to 2³² − 1 for each token. */
  roll(roll) {
    for (let made = this.rolls.length; made <= roll; made++) {
      const key = keyOf(1, this.seed, made, this.index);
      const [lots, fates] = [new Uint32Array(this.size), new Uint32Array(this.size)];
      for (let i = 0; i < this.size; i++) {
        const x = number(key, BigInt(2 * i));
        lots[i] = Number(x >> 32n);
        fates[i] = Number(x & 0xffffffffn);
      }
      this.rolls.push({ lots, fates });
    }
    return this.rolls[roll];
  }

  /** Which of `count` tokens is drawn for each place. */
  drawn(roll, count) {
    const key = keyOf(1, this.seed, roll, this.index);
    const high = (i) => number(key, BigInt(2 * i + 1)) >> 32n;
    return Array.from({ length: this.size }, (_, i) => Number((high(i) * BigInt(count)) >> 32n));
  }
}

/** For each token the place whose draws count for it: its own, or that of its word's first piece. */
export function firsts(words, wholeWords) {
  const starts = words.map((word, i) => i === 0 || !wholeWords || word < 0 || word !== words[i - 1]);
  return starts.map((_, i) => starts.lastIndexOf(true, i));
}

export const FATES = ["hidden", "replaced", "kept"];

/** What becomes of each token: "special", "left", or one of FATES. */
export function fatesOf({ lots, fates }, text, places, { rate, mask_share: mask, random_share: random }) {
  const [chosen, hidden, replaced] = [rate, mask, mask + random].map((share) => Math.round(share * 2 ** 32));
  return places.map((place, i) => {
    if (text.special[i]) return "special";
    if (lots[place] >= chosen) return "left";
    // One number decides between the three.
    return fates[place] < hidden ? "hidden" : fates[place] < replaced ? "replaced" : "kept";
  });
}

/** How many of each over the rolls 0 to `rolls` − 1: { left, hidden, replaced, kept }. */
export function tally(draws, rolls, text, places, shares) {
  const counts = { left: 0, hidden: 0, replaced: 0, kept: 0, special: 0 };
  for (let roll = 0; roll < rolls; roll++) {
    for (const fate of fatesOf(draws.roll(roll), text, places, shares)) counts[fate]++;
  }
  return counts;
}
