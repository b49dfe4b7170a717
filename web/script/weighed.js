// What the selection comes to for a use with weights, and for groups of tests, as the analysis has it (its folder groups).

const isBaseline = (contender) =>
  data.groups.some(({ title, members, named }) => !named && title === "baseline" && members.includes(contender));

const isComparable = (row, contender) => inference.costs[row][contender] !== null;

// The rows with what each weighs in a group, each of them at most as much as all of it.
function sharesOf(results, weight) {
  const whole = results.reduce((sum, [, share]) => sum + share, 0);
  return results.map(([row, share]) => ({ row, share: (weight * share) / whole }));
}

// What a use comes to: who takes part, what is said against the others, how much of the weight was tested, whether that
// allows an advice, and the ranking.
function weighed(use, weights, chosen) {
  const groups = use.groups.map((group) => group.results.filter(([row]) => chosen.counts(row)));
  const counting = [...new Set(groups.flat().map(([row]) => row))];
  const against = new Map(chosen.shown.map((c) => [c, reasonsAgainst(use, c, chosen, counting)]));
  const takesPart = chosen.shown.filter((c) => against.get(c).length === 0);
  for (const c of takesPart) against.delete(c);
  const had = groups.map((results) => results.filter(([row]) => takesPart.every((c) => isComparable(row, c))));
  const whole = weights.reduce((sum, weight) => sum + weight, 0);
  const part = had.reduce((sum, results, index) => sum + (results.length > 0 ? weights[index] : 0), 0);
  const tested = whole > 0 ? part / whole : 0;
  const untried = [...new Set(takesPart.flatMap((c) => use.untried[c]))];
  const used = had
    .flatMap((results, index) => (results.length > 0 ? sharesOf(results, weights[index] / part) : []))
    .filter(({ share }) => share > 0)
    .sort((a, b) => a.row - b.row);
  const ranked = part > 0 ? standingOf(used, takesPart, { ...use, isUse: true }) : [];
  const isAnswer = ranked.length > 0 || takesPart.length === 1;
  return {
    empty: whole === 0,
    takesPart,
    against,
    tested,
    missing: use.groups.filter((_, index) => had[index].length === 0),
    untried,
    ranked,
    advice: takesPart.length > 0 && tested >= inference.enoughTested && untried.length === 0 && isAnswer,
  };
}

// Every reason against a contender that holds of these rows, the failures together.
function reasonsAgainst(use, contender, chosen, counting) {
  const holds = use.out[contender].filter(({ rows }) => !rows || rows.some(chosen.counts));
  const failures = holds.filter(({ failure }) => failure);
  const reasons = holds.filter((reason) => !reason.failure || reason === failures[0]).map(({ w }) => w);
  const more = failures.length - 1;
  if (more > 0) reasons.push(`and ${more} ${more === 1 ? "failure" : "failures"} more`);
  const isNone = failures.length === 0 && !counting.some((row) => isComparable(row, contender));
  const isOut = holds.some(({ rows }) => rows !== undefined);
  if (isNone && !isOut && !isBaseline(contender)) reasons.push("has none of the results that count");
  return reasons;
}

// The logarithm of what the best of a row costs, among those shown.
function bestOfRow(row, shown) {
  const sign = inference.higher[row] ? -1 : 1;
  const medians = shown
    .filter((c) => isComparable(row, c))
    .map((c) => {
      const values = inference.costs[row][c].filter((log) => log !== null).map((log) => Math.exp(sign * log));
      return sign * Math.log(medianOf(values));
    });
  return Math.min(...medians);
}

// The score of each contender shown over some results: in each round the geometric mean of how many times the best's cost each
// of them costs; null where there is none. `parts` are lists of results that count alike.
function scoresOf(parts, shown) {
  const bests = new Map(parts.flat().map(([row]) => [row, bestOfRow(row, shown)]));
  return new Map(shown.map((contender) => [contender, scoreOf(parts, bests, contender)]));
}

function scoreOf(parts, bests, contender) {
  const has = parts.map((results) => results.filter(([row]) => isComparable(row, contender)));
  const missing = parts.flat().length - has.flat().length;
  const counted = has.filter((results) => results.length > 0);
  if (counted.length === 0) return { rounds: [], missing };
  const rounds = inference.costs[counted[0][0][0]][contender].map((_, round) => {
    const means = counted.map((results) => {
      const whole = results.reduce((sum, [, weight]) => sum + weight, 0);
      const logs = results.map(([row, weight]) => {
        const log = inference.costs[row][contender][round] ?? null;
        return log === null ? NaN : (weight * (log - bests.get(row))) / whole;
      });
      return logs.reduce((sum, log) => sum + log, 0);
    });
    return Math.exp(means.reduce((sum, mean) => sum + mean, 0) / means.length);
  });
  return { rounds: rounds.filter((value) => !Number.isNaN(value)), missing };
}

// Of so many values the interval for the median: from the r-th smallest to the r-th largest, with the largest r that reaches
// 95 %, and the first where none does.
function intervalForMedian(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const count = sorted.length;
  let [r, tail, term] = [1, 0.5 ** count, 0.5 ** count];
  for (let next = 2; next <= count / 2; next++) {
    term *= (count - next + 2) / (next - 1);
    tail += term;
    if (1 - 2 * tail < 0.95) break;
    r = next;
  }
  return [sorted[r - 1], sorted[count - r]];
}
