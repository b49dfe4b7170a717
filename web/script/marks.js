// Marks of single results among those shown: who is the best of a row, equal to it, may be it, or is the worst. The same tests as
// in the analysis (inference/best.rs): of all that is called worse, and of all that is called equal, at most 5 % is not.

// The chance of a value of Student's t above t: by the incomplete beta function (Abramowitz and Stegun 26.7.1).
function chanceOfT(t, freedom) {
  if (t === Infinity) return 0;
  if (t === -Infinity) return 1;
  const tail = 0.5 * incompleteBeta(freedom / 2, 0.5, freedom / (freedom + t * t));
  return t >= 0 ? tail : 1 - tail;
}

// The regularised incomplete beta function by its continued fraction (26.5.8), with the method of Lentz.
function incompleteBeta(a, b, x) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  if (x > (a + 1) / (a + b + 2)) return 1 - incompleteBeta(b, a, 1 - x);
  const front = Math.exp(logGamma(a + b) - logGamma(a) - logGamma(b) + a * Math.log(x) + b * Math.log1p(-x)) / a;
  let [c, d] = [1, 1 / nonZero(1 - ((a + b) * x) / (a + 1))];
  let fraction = d;
  for (let m = 1; m < 300; m++) {
    const even = (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / nonZero(1 + even * d);
    c = nonZero(1 + even / c);
    fraction *= d * c;
    const odd = (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / nonZero(1 + odd * d);
    c = nonZero(1 + odd / c);
    fraction *= d * c;
    if (Math.abs(d * c - 1) < 1e-15) break;
  }
  return front * fraction;
}

const nonZero = (value) => (Math.abs(value) < 1e-300 ? 1e-300 : value);

// The logarithm of the gamma function, by Stirling's series beyond 10 and its recurrence below (6.1.40 and 6.1.15).
function logGamma(x) {
  let [shift, at] = [0, x];
  for (; at < 10; at += 1) shift += Math.log(at);
  const inverse = 1 / (at * at);
  const series = (1 / 12 - inverse * (1 / 360 - inverse * (1 / 1260 - inverse / 1680))) / at;
  return (at - 0.5) * Math.log(at) - at + Math.log(2 * Math.PI) / 2 + series - shift;
}

// The level at which claims are made such that at most a share q of them is expected to be false (Benjamini and Hochberg).
function levelOf(chances, q) {
  const sorted = [...chances].sort((a, b) => a - b);
  const steps = (claims) => (q * claims) / Math.max(1, sorted.length);
  let made = sorted.length;
  while (made > 0 && sorted[made - 1] > steps(made)) made--;
  return steps(made > 0 ? made : 1);
}

// One contender beside another in a row; `sign` is −1 where the worst is asked for.
function pairOf(row, one, other, sign) {
  const found = between(row, one, other);
  return found === null ? null : { ...found, value: sign * found.value };
}

// The value that is exceeded with a chance; few different ones are asked for.
const exceeded = new Map();
function valueOfT(chance, freedom) {
  const key = `${chance} ${freedom}`;
  if (!exceeded.has(key))
    exceeded.set(
      key,
      fallsTo(chance, (t) => chanceOfT(t, freedom)),
    );
  return exceeded.get(key);
}

const chanceBeyond = (pair, value) => chanceOfT(errorsAbove(pair, value), pair.freedom);

function chanceOfEquality(pair, margin) {
  const turned = { ...pair, value: -pair.value };
  return Math.max(chanceBeyond(pair, -margin), chanceBeyond(turned, -margin));
}

// What is asked of a row: who can be compared, who is first, and of each whom it is most surely worse than.
function pairsOfRow(row, shown, sign, margin) {
  const some = shown.filter((c) => isComparable(row, c));
  const othersOf = new Map();
  for (const one of some) {
    const pairs = some.filter((other) => other !== one).map((other) => [other, pairOf(row, one, other, sign)]);
    const known = pairs.filter(([, pair]) => pair !== null).map(([other, pair]) => ({ ...pair, other }));
    if (known.length > 0) othersOf.set(one, known);
  }
  const ranked = [...othersOf.keys()];
  if (ranked.length === 0) return { row, sign, ranked, of: new Map() };
  const first = firstOf(ranked, (one) => othersOf.get(one).map(({ value }) => value));
  const of = new Map(
    ranked.map((one) => {
      const farthest = farthestOf(othersOf.get(one), margin);
      // The costs of the dearer one may be those of a stall.
      const stall = stallInRow(row, sign > 0 ? one : farthest.other);
      const beside = one === first ? null : pairOf(row, one, first, sign);
      const isNothing = beside !== null && beside.value === 0 && beside.variance === 0;
      return [
        one,
        {
          farthest,
          stall,
          worse: chanceBeyond(farthest, margin + stall),
          beside,
          isNothing,
          equal: beside === null || isNothing ? null : chanceOfEquality(beside, margin),
        },
      ];
    }),
  );
  return { row, sign, ranked, first, of };
}

// Verdicts of all rows: one family of claims.
function judged(rows, shown, margin) {
  const tries = Math.max(2, shown.length);
  const all = rows.flatMap(({ of }) => [...of.values()]);
  const worse = levelOf(
    all.map((found) => Math.min(1, found.worse * tries)),
    inference.falseLimit,
  );
  const equal = levelOf(
    all.flatMap((found) => (found.equal === null ? [] : [found.equal])),
    inference.falseLimit,
  );
  const levels = { worse: worse / tries, equal };
  return rows.map((pairs) => standingInRow(pairs, levels, shown, margin));
}

function standingInRow({ row, sign, ranked, first, of }, levels, shown, margin) {
  const logs = inference.exact
    ? contenders.map((_, c) =>
        (shown.includes(c) ? (inference.costs[row][c] ?? []) : []).map((log) => (log === null ? null : sign * log)),
      )
    : null;
  const verdict = (one) =>
    (logs && certain(logs, one, first, margin)) ??
    (sign > 0 ? verdictInRow : worstInRow)(of.get(one), levels);
  const verdicts = withFirst(first, new Map(ranked.map((one) => [one, verdict(one)])));
  const shortlist = ranked.filter(
    (one) => (one === first || of.get(one).beside !== null) && verdicts.get(one)?.worse === undefined,
  );
  return { verdicts, shortlist };
}

function verdictInRow({ farthest, stall, worse, beside, isNothing, equal }, levels) {
  if (worse <= levels.worse) {
    const reach = farthest.variance > 0 ? valueOfT(levels.worse, farthest.freedom) * Math.sqrt(farthest.variance) : 0;
    return { worse: farthest.value - stall - reach };
  }
  if (beside === null) return null;
  if (isNothing) return { equal: true, same: true };
  return equal <= levels.equal ? { equal: true } : { open: true };
}

// Of the worst only that counts.
const worstInRow = ({ farthest, worse }, levels) => (worse <= levels.worse ? { worse: farthest.value } : null);

// For each of these rows and each contender that has a place in it its sign and its words.
function marksOf(rows, shown) {
  const margin = Math.log1p(inference.margin);
  const pairs = (sign) => rows.map((row) => pairsOfRow(row, shown, sign, margin));
  const [costs, gains] = [1, -1].map((sign) => judged(pairs(sign), shown, margin));
  return new Map(rows.map((row, index) => [row, marksOfRow(costs[index], gains[index])]));
}

function marksOfRow({ verdicts, shortlist }, gains) {
  const marks = new Map();
  for (const [one, verdict] of verdicts) {
    if (verdict === null) continue;
    const isShort = shortlist.includes(one);
    const isWorst = gains.shortlist.length === 1 && gains.shortlist[0] === one && !isShort;
    const sign = isShort ? (shortlist.length === 1 ? "▲" : verdict.equal ? "=" : "?") : isWorst ? "▼" : "";
    marks.set(one, { sign, words: () => placeWords(verdict, inference.margin) });
  }
  return marks;
}
