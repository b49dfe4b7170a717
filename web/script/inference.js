// Who may be the best, by the tests that the analysis uses (its folder inference, where the reasons stand): what is known of
// each pair of contenders in each result comes with the page and depends on neither weights nor selection; here it is summed
// up and judged, for those who take part.

const inference = data.inference;
const bits = (value) => BigInt.asUintN(64, value);

// The chance of a standard normal value, times √2, beyond x, twice: by its series up to 2, by Laplace's continued fraction
// beyond (Abramowitz and Stegun 7.1.6 and 7.1.14).
function erfc(x) {
  if (x < 0) return 2 - erfc(-x);
  if (x < 2) {
    let sum = x;
    for (let n = 1, term = x; term > 1e-17 * sum; n++) sum += term *= (2 * x * x) / (2 * n + 1);
    return 1 - (2 / Math.sqrt(Math.PI)) * Math.exp(-x * x) * sum;
  }
  let tail = x;
  if (x > 27) return 0;
  // So many terms leave an error below 1e-13.
  for (let n = Math.ceil(8 + 130 / (x * x)); n > 0; n--) tail = x + n / 2 / tail;
  return Math.exp(-x * x) / (Math.sqrt(Math.PI) * tail);
}

// Which quantile each draw takes for the part of a sum at this place: an order by SplitMix64, as in model/rng.rs.
const drawOrders = [];
function drawOrder(place) {
  if (drawOrders[place]) return drawOrders[place];
  let state = BigInt(place);
  const next = () => {
    state = bits(state + 0x9e3779b97f4a7c15n);
    let z = state;
    z = bits((z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n);
    z = bits((z ^ (z >> 27n)) * 0x94d049bb133111ebn);
    return z ^ (z >> 31n);
  };
  const below = (bound) => {
    for (;;) {
      const wide = next() * bound;
      const low = bits(wide);
      // The remainder is below the bound, and costs more than everything else here.
      if (low >= bound || low >= bits(-bound) % bound) return Number(wide >> 64n);
    }
  };
  const order = inference.quantiles[0].map((_, draw) => draw);
  for (let last = order.length - 1; last > 0; last--) {
    const other = below(BigInt(last + 1));
    [order[last], order[other]] = [order[other], order[last]];
  }
  drawOrders[place] = order;
  return order;
}

// What is known of each pair in each result, unpacked when it is first asked for: mean, variance, which quantiles; a variance of
// NaN where no round has both.
const unpacked = [];

function pairsOf(row) {
  if (unpacked[row]) return unpacked[row];
  const stored = inference.pairs[row];
  const pairs = {
    mean: new Float64Array(stored.length),
    variance: new Float64Array(stored.length),
    quantiles: new Uint16Array(stored.length),
  };
  let place = 0;
  for (let one = 0; one < contenders.length; one++) {
    for (let other = one + 1; other < contenders.length; other++, place++) {
      const known = stored[place];
      if (known === null) pairs.variance[place] = NaN;
      else if (typeof known === "number") {
        pairs.mean[place] = meanDifference(inference.costs[row][one], inference.costs[row][other]);
        pairs.variance[place] = known;
      } else {
        pairs.mean[place] = known[0];
        pairs.variance[place] = known[1] ?? Infinity;
        pairs.quantiles[place] = known[2];
      }
    }
  }
  unpacked[row] = pairs;
  return pairs;
}

function meanDifference(one, other) {
  let [count, sum] = [0, 0];
  one.forEach((log, round) => {
    const there = other[round] ?? null;
    if (log === null || there === null) return;
    count += 1;
    sum += log - there;
  });
  return sum / count;
}

function placeOfPair(one, other) {
  const [a, b] = one < other ? [one, other] : [other, one];
  return a * contenders.length - (a * (a + 1)) / 2 + b - a - 1;
}

// By how much more one contender costs than another in a result; null where no round has both.
function between(row, one, other) {
  const pairs = pairsOf(row);
  const place = placeOfPair(one, other);
  if (Number.isNaN(pairs.variance[place])) return null;
  const mean = pairs.mean[place];
  return {
    value: one < other ? mean : -mean,
    variance: pairs.variance[place],
    freedom: inference.freedoms[pairs.quantiles[place]],
  };
}

// The variance of a sum of parts with these variances; noise of results of one test goes together as far as `correlation` says.
function varianceOf(variances, tests) {
  let [all, test, squares, sum] = [0, -1, 0, 0];
  const { correlation } = inference;
  for (let part = 0; part < variances.length; part++) {
    if (tests[part] !== test) {
      all += squares + correlation * (sum * sum - squares);
      test = tests[part];
      squares = 0;
      sum = 0;
    }
    squares += variances[part];
    sum += Math.sqrt(variances[part]);
  }
  all += squares + correlation * (sum * sum - squares);
  return Number.isNaN(all) ? Infinity : all;
}

// The sums of these results for all pairs of those who take part, by the place of the pair; without those of whom a result is
// missing.
function sumsOf(used, takesPart) {
  const sums = new Map();
  if (used.length === 0) return sums;
  const rows = used.map(({ row }) => pairsOf(row));
  const tests = used.map(({ row }) => inference.tests[row]);
  for (const one of takesPart) {
    for (const other of takesPart) {
      if (other <= one) continue;
      const place = placeOfPair(one, other);
      const sum = sumOf(used, rows, tests, place);
      if (sum !== null) sums.set(place, sum);
    }
  }
  return sums;
}

function sumOf(used, rows, tests, place) {
  const variances = new Float64Array(used.length);
  let [value, isNothing] = [0, true];
  for (let part = 0; part < used.length; part++) {
    const variance = rows[part].variance[place];
    if (Number.isNaN(variance)) return null;
    const { share } = used[part];
    const mean = rows[part].mean[place];
    value += share * mean;
    variances[part] = variance === 0 ? 0 : share * share * variance;
    isNothing &&= mean === 0 && variance === 0;
  }
  const variance = varianceOf(variances, tests);
  const tail = tailOf(variance, () => deviationsOf(used, rows, tests, variances, place));
  return { value, variance, isNothing, chanceAbove: tail };
}

// The standard deviation of a sum in each draw.
function deviationsOf(used, rows, tests, variances, place) {
  const quantiles = used.map((_, part) => inference.quantiles[rows[part].quantiles[place]]);
  const orders = used.map((_, part) => drawOrder(part));
  const drawn = new Float64Array(used.length);
  return Float64Array.from(orders[0], (_, draw) => {
    for (let part = 0; part < drawn.length; part++) {
      drawn[part] = variances[part] === 0 ? 0 : variances[part] * quantiles[part][orders[part][draw]];
    }
    return Math.sqrt(varianceOf(drawn, tests));
  });
}

// The chance of an error above so much.
function tailOf(variance, deviations) {
  let known = null;
  return (error) => {
    if (variance === 0) return error > 0 ? 0 : 1;
    known ??= deviations();
    let sum = 0;
    for (const deviation of known) sum += erfc(error / (deviation * Math.SQRT2));
    return sum / (2 * known.length);
  };
}

// Where a function that falls from 0 on comes down to a level, to more digits than are shown: by the Illinois variant of regula
// falsi on logarithms (Dowell and Jarratt, 1971), and by halves where a line leads nowhere. It is looked for about `scale` first.
function fallsTo(level, of, scale = 1, precision = 1e-7) {
  let [low, high] = [0, Number.isFinite(scale) ? scale : 1];
  while (of(high) > level && high < 1e150) [low, high] = [high, 2 * high];
  const gapAt = (x) => Math.log(of(x) / level);
  let [below, above] = [gapAt(low), gapAt(high)];
  let side = 0;
  while (high - low > precision * high) {
    const line = (low * above - high * below) / (above - below);
    const at = line > low && line < high ? line : (low + high) / 2;
    const gap = gapAt(at);
    if (Math.abs(gap) < precision) return at;
    if (gap > 0) {
      [low, below] = [at, gap];
      if (side > 0) above /= 2;
      side = 1;
    } else {
      [high, above] = [at, gap];
      if (side < 0) below /= 2;
      side = -1;
    }
  }
  return high;
}

// The chance that any of so many contenders is falsely called worse than the best.
function among(count, beyond, above) {
  let most = 0;
  for (let best = 1; best <= count; best++) {
    most = Math.max(most, best * (count - best) * beyond + best * (best - 1) * above);
  }
  return most;
}

// A verdict is { worse: log }, { better: log }, { equal: true } or { open: true }.
const reversed = (verdict) =>
  verdict.worse !== undefined
    ? { better: verdict.worse }
    : verdict.better !== undefined
      ? { worse: verdict.better }
      : verdict;

// What all rounds of a campaign without noise say.
function withoutNoise(differences, margin) {
  if (differences.length === 0) return null;
  const [least, most] = [Math.min(...differences), Math.max(...differences)];
  if (least === 0 && most === 0) return { equal: true, same: true };
  if (least > margin) return { worse: least };
  if (most < -margin) return { better: -most };
  return least >= -margin && most <= margin ? { equal: true } : null;
}

// The part of the log cost of a contender in a result that a stall may explain: with one round, no other round shows it. A
// size does not depend on time.
function stallInRow(row, one) {
  const rounds = (inference.costs[row][one] ?? []).filter((log) => log !== null).length;
  return !inference.exact && !inference.isSize[row] && rounds === 1 ? inference.stall : 0;
}

// The same in a sum of results. One cell stalled, the results of which share its test.
function stallIn(used, one) {
  const ofTests = new Map();
  for (const { row, share } of used) {
    const test = inference.tests[row];
    ofTests.set(test, (ofTests.get(test) ?? 0) + share * stallInRow(row, one));
  }
  return Math.max(0, ...ofTests.values());
}

function worseThan(sum, stall, { comparable, limit, margin }) {
  const above = sum.chanceAbove(sum.value);
  const chance = (error) => among(comparable, sum.chanceAbove(error), above);
  const value = sum.value - stall;
  const room = value - margin;
  if (room <= 0 || chance(room) > limit) return null;
  return { worse: value - (sum.variance > 0 ? Math.min(fallsTo(limit, chance, Math.sqrt(sum.variance)), room) : 0) };
}

function equalTo(sum, { comparable, limit, margin }) {
  const level = limit / (comparable - 1);
  const room = margin - Math.abs(sum.value);
  if (sum.isNothing) return { equal: true, same: true };
  if (room >= 0 && sum.chanceAbove(room) <= level) return { equal: true };
  return { open: true };
}

// The verdict on the first, from those on the others: on the nearest of them.
function ofFirst(verdicts) {
  const isWorse = (verdict) => verdict.worse !== undefined;
  const nearest = verdicts.reduce((a, b) => {
    if (isWorse(a) && isWorse(b)) return { worse: Math.min(a.worse, b.worse) };
    if (isWorse(a) || isWorse(b)) return isWorse(a) ? b : a;
    if (a.open || b.open) return { open: true };
    return a.same ? b : a;
  });
  return reversed(nearest);
}

// The most that a contender costs more than the best, as a logarithm, and the same after more rounds: `at_most` of the analysis.
// Null where the noise is unknown.
function excessBound(sums, level) {
  const reach = ({ value, variance }) => value + 3 * Math.sqrt(variance);
  let bound = { most: 0, forecast: 0 };
  for (const sum of [...sums].sort((a, b) => reach(b) - reach(a))) {
    if (!Number.isFinite(sum.variance)) return null;
    // The bound of this pair is no larger.
    if (sum.chanceAbove(bound.most - sum.value) <= level) continue;
    const error = sum.variance > 0 ? fallsTo(level, sum.chanceAbove, Math.sqrt(sum.variance)) : 0;
    if (error >= 1e100) return null;
    if (sum.value + error <= bound.most) continue;
    bound = {
      most: sum.value + error,
      forecast: Math.max(0, sum.value + error / Math.sqrt(inference.forecastRounds)),
    };
  }
  return bound;
}

// The same of values without noise.
function excessInAnyRound(logs, one) {
  const most = Math.max(0, ...logs.flatMap((_, other) => (other === one ? [] : roundsOfBoth(logs, one, other))));
  return { most, forecast: most };
}

// Bound from which it is not stated, as a multiple.
const MAX_MULTIPLE = 10;

const isStated = ({ most }) => Math.exp(most) < MAX_MULTIPLE;

// Those with the least bound first, those without a stated bound in the order of their costs. Of those with about the same
// bound and cost, one that recovers from a crash, if the question asks for it, and then the one with the lowest cost.
function byBound(ranked, prefersRecovery, margin) {
  const bound = ({ bound }) => (bound === null ? Infinity : bound.most);
  const most = (one) => (one.bound !== null && isStated(one.bound) ? one.bound.most : Infinity);
  const share = (one) => Math.expm1(bound(one));
  const recovers = ({ contender }) => prefersRecovery && Boolean(contenders[contender].recovery);
  const sorted = [...ranked].sort((a, b) => (most(a) === most(b) ? a.difference - b.difference : most(a) - most(b)));
  const [former] = sorted;
  if (!former?.bound) return sorted;
  const least = share(former);
  const near = sorted.filter(
    (one) =>
      one.difference - former.difference <= Math.log1p(inference.aboutEqual) &&
      share(one) - least < inference.aboutEqual &&
      (share(one) <= inference.mostUseful || least > inference.mostUseful),
  );
  const [preferred] = near.sort((a, b) => recovers(b) - recovers(a) || a.difference - b.difference);
  const others = sorted.filter((one) => one !== preferred);
  const first = { ...preferred, close: closeTo(preferred, sorted, margin) };
  if (recovers(preferred) && !recovers(former)) first.displaced = former.contender;
  return [first, ...others];
}

// Those whose costs are within the margin of the first one's, and that are not shown to be worse; none if the first one's
// bound is within the margin.
function closeTo(first, ranked, margin) {
  if (first.bound.most <= margin || isWorse(first)) return [];
  const close = ranked
    .filter((one) => Math.abs(one.difference - first.difference) <= margin && !isWorse(one))
    .sort((a, b) => a.difference - b.difference);
  return close.length > 1 ? close.map(({ contender }) => contender) : [];
}

// What is asked of a sum of results: `used`, [{row, share}] with shares that add up to 1, by those who take part, with the
// margin and the chance of a false claim about it. Everybody who can be ranked, the least bound first, with a verdict, and the
// logarithm of the cost as a multiple of the lowest.
function standingOf(used, takesPart, { margin, limit, isUse = false }) {
  const sums = sumsOf(used, takesPart);
  const beside = (one, other) => {
    const sum = one === other ? undefined : sums.get(placeOfPair(one, other));
    return sum && one > other ? { ...sum, value: -sum.value } : sum;
  };
  const othersOf = (one) => takesPart.filter((other) => beside(one, other));
  const ranked = takesPart.filter((one) => othersOf(one).length > 0);
  if (ranked.length === 0) return [];
  const first = firstOf(ranked, (one) => othersOf(one).map((other) => beside(one, other).value));
  const asked = { used, comparable: ranked.length, limit, margin: Math.log1p(margin) };
  const logs = inference.exact ? contenders.map((_, c) => summedUp(used, takesPart, c)) : null;
  const verdict = (one) =>
    (logs && certain(logs, one, first, asked.margin)) ?? verdictOn(one, first, othersOf(one), beside, asked);
  const verdicts = withFirst(first, new Map(ranked.map((one) => [one, verdict(one)])));
  const difference = (one) => (one === first ? 0 : beside(one, first)?.value);
  const known = ranked.filter((one) => difference(one) !== undefined && verdicts.get(one) !== null);
  const lowest = Math.min(...known.map(difference));
  const others = Math.max(2, ranked.length) - 1;
  const level = inference.falseLimit / (inference.endsByResults ? Math.max(others + 2, 2 * others) : others + 0.2);
  const bound = (one) => {
    if (logs) return excessInAnyRound(logs, one);
    const all = othersOf(one);
    return all.length + 1 < ranked.length ? null : excessBound(all.map((other) => beside(one, other)), level);
  };
  const all = known.map((contender) => ({
    contender,
    verdict: verdicts.get(contender),
    difference: difference(contender) - lowest,
    bound: bound(contender),
  }));
  return byBound(all, isUse, asked.margin);
}

// Who costs least on average beside the others.
function firstOf(ranked, valuesOf) {
  const costs = ranked.map((one) => {
    const values = valuesOf(one);
    return values.reduce((sum, value) => sum + value, 0) / values.length;
  });
  return ranked[costs.indexOf(Math.min(...costs))];
}

// The first's verdict follows from those of the others, unless it is worse than one of them.
function withFirst(first, verdicts) {
  if (verdicts.get(first)?.worse !== undefined) return verdicts;
  const others = [...verdicts.values()].filter((verdict) => verdict !== null);
  const verdict = others.length > 0 ? ofFirst(others) : null;
  verdicts.set(first, verdict);
  if (!verdict?.open) return verdicts;
  // Who is as good as the first is as open.
  for (const [one, other] of verdicts) if (other?.same) verdicts.set(one, verdict);
  return verdicts;
}

// The weighted mean of results in each round that has all of them.
function summedUp(used, takesPart, contender) {
  if (!takesPart.includes(contender) || used.length === 0) return [];
  const rounds = Math.max(...used.map(({ row }) => inference.costs[row][contender]?.length ?? 0));
  return Array.from({ length: rounds }, (_, round) => {
    const logs = used.map(({ row }) => inference.costs[row][contender]?.[round] ?? null);
    if (logs.includes(null)) return null;
    return logs.reduce((sum, log, place) => sum + log * used[place].share, 0);
  });
}

const roundsOfBoth = (logs, one, other) =>
  logs[one].flatMap((log, round) => {
    const there = logs[other][round] ?? null;
    return log === null || there === null ? [] : [log - there];
  });

// What values without noise say: by how much it is worse than any other in every round, else how it stands to the first.
function certain(logs, one, first, margin) {
  const against = (other) => withoutNoise(roundsOfBoth(logs, one, other), margin);
  const worse = logs.map((_, other) => against(other)?.worse).filter((log) => log !== undefined);
  if (worse.length > 0) return { worse: Math.max(...worse) };
  return one === first ? null : against(first);
}

// How many standard errors a mean lies above the margin.
function errorsAbove({ value, variance }, margin) {
  const way = value - margin;
  return variance > 0 ? way / Math.sqrt(variance) : way > 0 ? Infinity : -Infinity;
}

// The one that a contender is most surely worse than.
function farthestOf(all, margin) {
  const isFarther = (a, b) => {
    const [here, there] = [errorsAbove(a, margin), errorsAbove(b, margin)];
    return there > here || (there === here && b.value >= a.value);
  };
  return all.reduce((a, b) => (isFarther(a, b) ? b : a));
}

function verdictOn(one, first, others, beside, asked) {
  const farthest = farthestOf(
    others.map((other) => beside(one, other)),
    asked.margin,
  );
  const worse = worseThan(farthest, stallIn(asked.used, one), asked);
  if (worse || one === first) return worse;
  return beside(one, first) ? equalTo(beside(one, first), asked) : null;
}
