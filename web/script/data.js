// The campaign as the page holds it: one block of JSON, read once. What the numbers mean is decided
// where they were analysed; here they are only looked up and written out.

const data = JSON.parse(document.getElementById("data").textContent);
const contenders = data.contenders;

// Captions are stored once.
for (const row of [
  ...(data.phases ?? []).flatMap(({ rows }) => rows),
  ...(data.sweeps ?? []).flatMap(({ phases }) => phases.flatMap(({ points }) => points.map((point) => point.row))),
])
  row.n = row.n.map((note) => data.notes[note]);

// A result is [median, signs, place, variation, rounds, low, high] in the unit of its row, already rounded
// as the tables show it; low and high are left out where they are the smallest and the largest round.
// A contender without a number has words instead: "!" before them if something failed, "-" if not.
// Of most there are the variation and the rounds alone: they have no sign and no place.
function storedOf(row, contender) {
  const stored = row.f[contender];
  if (typeof stored === "string" || typeof stored[1] === "string") return stored;
  const [variation, ...rounds] = stored;
  return [medianOf(rounds), "", "", variation, rounds];
}

// The median of numbers; of an even number of them the mean of the two in the middle.
function medianOf(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

function resultOf(row, contender) {
  const stored = storedOf(row, contender);
  if (typeof stored === "string") {
    return { words: stored.slice(1), failed: stored[0] === "!" };
  }
  const [median, analysed, place, variation, rounds, low, high] = stored;
  const mark = markOf(row, contender);
  const signs = mark === undefined ? analysed : withMark(analysed, mark);
  const numbers = rounds.filter((round) => typeof round === "number");
  return {
    median,
    signs,
    get place() {
      return mark === undefined ? place : (mark?.words() ?? "");
    },
    variation,
    rounds,
    numbers,
    low: low ?? Math.min(...numbers),
    high: high ?? Math.max(...numbers),
    confidence: data.confidence[numbers.length],
    best: signs.includes("▲"),
    worst: signs.includes("▼"),
  };
}

// Signs with another mark in place of the one that came with them; "≥" stands before it, the others behind.
function withMark(signs, mark) {
  const rest = signs.replace(/[▲▼=?]/u, "");
  const bound = rest.startsWith("≥") ? "≥" : "";
  return bound + (mark?.sign ?? "") + rest.slice(bound.length);
}

// A result varies much where its rounds have a coefficient of variation above so many per cent.
const UNSTEADY_ABOVE = 10;

// Three significant digits, to the letter as the tables have them.
function threeDigits(value) {
  if (value === 0) return "0";
  const exponent = Number(value.toExponential(2).split("e")[1]);
  if (exponent >= -6 && exponent <= 2) return value.toFixed(2 - exponent);
  if (exponent >= 3 && exponent <= 8) {
    const unit = 10 ** (exponent - 2);
    return String(Math.round(value / unit) * unit);
  }
  return value.toExponential(2).replace("e+", "e");
}

// Three significant digits of a number above 1, rounded up.
function threeDigitsUp(value) {
  const unit = 10 ** (Math.floor(Math.log10(value)) - 2);
  return threeDigits(Math.ceil(value / unit - 1e-6) * unit);
}

// A number of a row as the tables show it. Counts are whole where they can be; capacities have as many digits
// behind the point as it takes to distinguish them.
function numberOf(row, value) {
  if (row.digits !== undefined) return value.toFixed(row.digits);
  if (row.whole && Number.isInteger(value) && Math.abs(value) < 1000) return String(value);
  return threeDigits(value);
}

// The ends of an interval; of rounds that do not vary, that they do not.
function intervalOf(row, result) {
  if (result.numbers.length > 1 && result.variation === 0) return "same in each round";
  return `${numberOf(row, result.low)} … ${numberOf(row, result.high)}`;
}

// A median with its signs: "≥" stands before the number, the others behind it.
function textOf(row, result) {
  if (result.words) return result.words;
  const bound = result.signs.startsWith("≥") ? "≥" : "";
  return bound + numberOf(row, result.median) + result.signs.slice(bound.length);
}

// Units of one kind, each with how many of the smallest it is.
const UNITS = [
  [
    ["ns", 1],
    ["µs", 1e3],
    ["ms", 1e6],
    ["s", 1e9],
  ],
  [
    ["B/s", 1],
    ["kB/s", 1e3],
    ["MB/s", 1e6],
    ["GB/s", 1e9],
  ],
  [
    ["/s", 1],
    ["k/s", 1e3],
    ["M/s", 1e6],
  ],
  [
    ["B", 1],
    ["kB", 1e3],
    ["MB", 1e6],
    ["GB", 1e9],
    ["TB", 1e12],
  ],
  [
    ["", 1],
    ["k", 1e3],
    ["M", 1e6],
    ["G", 1e9],
  ],
];

// The unit in which a number is neither very long nor nearly nothing, and by what it is divided for that.
function unitFor(unit, value) {
  const kind = UNITS.find((units) => units.some(([name]) => name === unit));
  const size = Math.abs(value);
  if (!kind || size === 0 || (size >= 0.1 && size < 10000)) return [unit, 1];
  const own = kind.find(([name]) => name === unit)[1];
  const [name, factor] = kind.findLast(([, most]) => size * own >= most) ?? kind[0];
  return [name, factor / own];
}

// What the numbers along an axis are.
const axisUnit = (row) => row.axis ?? row.u;
// The unit behind a number, with its space.
const unitBehind = (row) => (row.u ? ` ${row.u}` : "");

const metricOf = (row) => data.metrics[row.m];
const rowOfMetric = (phase, name) => phase.rows.find((row) => metricOf(row).name === name);

// The word for what became of a result, without how often.
const wordOf = (result) => result.words.split(/ in |: |, /)[0];

// Contenders that a chart shows, best first where one is better, in the campaign's order where it
// is not; those without a number last. Rows of a primary metric bring the order of their table.
function readingOrder(row, shown) {
  if (row.o) return row.o.filter((contender) => shown.includes(contender));
  const median = (c) => (typeof row.f[c] === "string" ? null : storedOf(row, c)[0]);
  return [...shown].sort((a, b) => {
    const [left, right] = [median(a), median(b)];
    if (left === null || right === null) return (left === null) - (right === null) || a - b;
    return (right - left) * row.d || a - b;
  });
}

// The step of the colour scale of a ratio.
function ratioStep(ratio) {
  const step = data.steps.findIndex((most) => ratio <= most);
  return step < 0 ? data.steps.length : step;
}
