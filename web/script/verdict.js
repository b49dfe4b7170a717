// Who may be the best with weights of one's own, by the test that the analysis uses (inference/best.rs and sum.rs there,
// where the reasons stand): what is known of each pair of contenders in each result comes with the page and
// does not depend on weights; here it is summed up and judged. The same weights give the same words in every report.

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
  for (let n = 60; n > 0; n--) tail = x + n / 2 / tail;
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
      if (bits(wide) >= bits(-bound) % bound) return Number(wide >> 64n);
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

// By how much more one contender costs than another in a result; null where no round has both.
function between(row, one, other) {
  const [a, b] = [Math.min(one, other), Math.max(one, other)];
  const stored = inference.pairs[row][a * contenders.length - (a * (a + 1)) / 2 + b - a - 1];
  if (stored === null) return null;
  const [mean, variance, quantiles] = stored;
  return { mean: one < other ? mean : -mean, variance: variance ?? Infinity, quantiles };
}

// The variance of a sum; noise of results of one test goes together as far as `correlation` says.
function varianceOf(parts, factor) {
  let [all, test, squares, sum] = [0, null, 0, 0];
  const ofTest = () => squares + inference.correlation * (sum * sum - squares);
  parts.forEach((part, place) => {
    if (part.test !== test) {
      all += ofTest();
      [test, squares, sum] = [part.test, 0, 0];
    }
    const variance = part.variance === 0 ? 0 : part.share * part.share * part.variance * factor(place);
    squares += variance;
    sum += Math.sqrt(variance);
  });
  all += ofTest();
  return Number.isNaN(all) ? Infinity : all;
}

function sumOf(used, one, other) {
  const parts = used.map(({ row, share }) => ({ ...between(row, one, other), share, test: inference.tests[row] }));
  const value = parts.reduce((sum, part) => sum + part.share * part.mean, 0);
  const variance = varianceOf(parts, () => 1);
  const isNothing = parts.every((part) => part.mean === 0 && part.variance === 0);
  let deviations = null;
  const chanceAbove = (error) => {
    if (variance === 0) return error > 0 ? 0 : 1;
    deviations ??= drawOrder(0).map((_, draw) => {
      const factor = (place) => inference.quantiles[parts[place].quantiles][drawOrder(place)[draw]];
      return Math.sqrt(varianceOf(parts, factor));
    });
    const tails = deviations.reduce((sum, deviation) => sum + erfc(error / (deviation * Math.SQRT2)), 0);
    return tails / (2 * deviations.length);
  };
  return { value, variance, isNothing, chanceAbove };
}

// Where a function that falls from 0 on comes down to a level.
function fallsTo(level, of) {
  let [low, high] = [0, 1];
  while (of(high) > level && high < 1e150) [low, high] = [high, 2 * high];
  while (high - low > 1e-9 * high) {
    const middle = (low + high) / 2;
    if (of(middle) > level) low = middle;
    else high = middle;
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

function roundsNeeded(value, margin, rounds, level, chanceAbove) {
  const way = Math.abs(Math.abs(value) - margin);
  const suffices = (count) => chanceAbove(way * Math.sqrt(count / rounds)) <= level;
  let [few, enough] = [rounds, inference.mostRounds];
  if (few >= enough || !suffices(enough)) return null;
  while (enough - few > 1) {
    const middle = Math.floor((few + enough) / 2);
    if (suffices(middle)) enough = middle;
    else few = middle;
  }
  return enough;
}

// A verdict is { worse: log }, { better: log }, { equal: true } or { rounds: how many would do, or null }.
const reversed = (verdict) =>
  verdict.worse !== undefined ? { better: verdict.worse } : verdict.better !== undefined ? { worse: verdict.better } : verdict;

// What all rounds of a campaign without noise say.
function withoutNoise(differences, margin) {
  if (differences.length === 0) return null;
  const [least, most] = [Math.min(...differences), Math.max(...differences)];
  if (least === 0 && most === 0) return { equal: true, same: true };
  if (least > margin) return { worse: least };
  if (most < -margin) return { better: -most };
  return least >= -margin && most <= margin ? { equal: true } : null;
}

function worseThan(sum, { comparable, limit, margin }) {
  const above = sum.chanceAbove(sum.value);
  const chance = (error) => among(comparable, sum.chanceAbove(error), above);
  const room = sum.value - margin;
  if (room <= 0 || chance(room) > limit) return null;
  return { worse: sum.value - (sum.variance > 0 ? Math.min(fallsTo(limit, chance), room) : 0) };
}

function equalTo(sum, { comparable, limit, margin, rounds }) {
  const level = limit / (comparable - 1);
  const room = margin - Math.abs(sum.value);
  if (sum.isNothing) return { equal: true, same: true };
  if (room >= 0 && sum.chanceAbove(room) <= level) return { equal: true };
  const chance = (error) =>
    room >= 0 ? sum.chanceAbove(error) : among(comparable, sum.chanceAbove(error), 0);
  return { rounds: roundsNeeded(sum.value, margin, rounds, room >= 0 ? level : limit, chance) };
}

// The verdict on the first, from those on the others: on the nearest of them.
function ofFirst(verdicts) {
  const isWorse = (verdict) => verdict.worse !== undefined;
  const isOpen = (verdict) => verdict.rounds !== undefined;
  const nearest = verdicts.reduce((a, b) => {
    if (isWorse(a) && isWorse(b)) return { worse: Math.min(a.worse, b.worse) };
    if (isWorse(a) || isWorse(b)) return isWorse(a) ? b : a;
    if (isOpen(a) && isOpen(b)) return { rounds: mostOf([a.rounds, b.rounds]) };
    if (isOpen(a) || isOpen(b)) return isOpen(a) ? a : b;
    return a.same ? b : a;
  });
  return reversed(nearest);
}

const mostOf = (rounds) => (rounds.includes(null) ? null : Math.max(...rounds));

// Who is left with these weights: the shortlist and the others by cost, with their verdicts.
function standingOf(use, weights) {
  const whole = use.groups.reduce((sum, group, index) => sum + (group.tested ? weights[index] : 0), 0);
  const used = use.groups
    .flatMap((group, index) => group.results.map(([row, share]) => ({ row, share: (share * weights[index]) / whole })))
    .filter(({ share }) => share > 0)
    .sort((a, b) => a.row - b.row);
  const all = contenders.map((_, contender) => contender).filter((contender) => use.out[contender] === "");
  const sums = new Map();
  for (const one of all) {
    for (const other of all.filter((c) => c > one && used.length > 0)) {
      if (used.some(({ row }) => between(row, one, other) === null)) continue;
      const [here, there] = [sumOf(used, one, other), sumOf(used, other, one)];
      sums.set(`${one} ${other}`, here).set(`${other} ${one}`, there);
    }
  }
  const beside = (one, other) => sums.get(`${one} ${other}`);
  const othersOf = (one) => all.filter((other) => beside(one, other));
  const ranked = all.filter((one) => othersOf(one).length > 0);
  if (ranked.length === 0) return { ranked: [], all };
  const costs = ranked.map((one) => {
    const values = othersOf(one).map((other) => beside(one, other).value);
    return values.reduce((sum, value) => sum + value, 0) / values.length;
  });
  const first = ranked[costs.indexOf(Math.min(...costs))];
  const rounds = Math.max(...used.map(({ row }) => inference.rounds[row]));
  const asked = { comparable: ranked.length, limit: use.limit, margin: Math.log1p(use.margin), rounds };
  const verdicts = new Map(ranked.map((one) => [one, verdictOn(one, first, othersOf(one), beside, asked, use, weights)]));
  if (!(verdicts.get(first)?.worse !== undefined)) {
    const others = [...verdicts.values()].filter((verdict) => verdict !== null);
    verdicts.set(first, others.length > 0 ? ofFirst(others) : null);
  }
  const difference = (one) => (one === first ? 0 : beside(one, first)?.value);
  const placed = ranked
    .filter((one) => difference(one) !== undefined && verdicts.get(one) !== null)
    .sort((a, b) => difference(a) - difference(b) || a - b)
    .map((contender) => ({ contender, verdict: verdicts.get(contender), difference: difference(contender) }));
  return { ranked: placed, all };
}

function verdictOn(one, first, others, beside, asked, use, weights) {
  if (inference.exact) {
    const logs = contenders.map((_, c) => roundsOf(use, weights, c).map((cost) => (cost === null ? null : Math.log(cost))));
    const against = (other) =>
      withoutNoise(
        logs[one].flatMap((log, round) =>
          log === null || logs[other][round] === null ? [] : [log - logs[other][round]],
        ),
        asked.margin,
      );
    const shares = others.map(against).filter((verdict) => verdict?.worse !== undefined);
    if (shares.length > 0) return { worse: Math.max(...shares.map(({ worse }) => worse)) };
    const certain = one === first ? null : against(first);
    if (certain) return certain;
  }
  const errors = (sum) => {
    const way = sum.value - asked.margin;
    return sum.variance > 0 ? way / Math.sqrt(sum.variance) : way > 0 ? Infinity : -Infinity;
  };
  const all = others.map((other) => beside(one, other));
  const isFarther = (a, b) => errors(b) > errors(a) || (errors(b) === errors(a) && b.value >= a.value);
  const farthest = all.reduce((a, b) => (isFarther(a, b) ? b : a));
  const worse = worseThan(farthest, asked);
  if (worse || one === first) return worse;
  return beside(one, first) ? equalTo(beside(one, first), asked) : null;
}

// The cost of a contender in each round: how many times what the best of each result takes; null where the round is not
// whole. Nothing for those who do not qualify.
function roundsOf(use, weights, contender) {
  if (use.out[contender] !== "") return [];
  const parts = use.groups
    .map((group, index) => ({ scores: group.scores[contender], weight: weights[index] }))
    .filter(({ scores, weight }) => scores !== null && weight > 0);
  const whole = parts.reduce((sum, part) => sum + part.weight, 0);
  const rounds = parts.length > 0 ? parts[0].scores : [];
  return rounds.map((_, round) => {
    if (parts.some(({ scores }) => scores[round] === null)) return null;
    const sum = parts.reduce((total, { scores, weight }) => total + weight * Math.log(scores[round]), 0);
    return Math.exp(sum / whole);
  });
}

// The same in words, as every report has them.
function answerOf(use, weights) {
  if (weights.every((weight) => weight === 0)) return "Give at least one group a weight.";
  const part = (tested) =>
    use.groups.reduce((sum, group, index) => sum + (!tested || group.tested ? weights[index] : 0), 0);
  const tested = part(true) / part(false);
  if (tested > 0 && use.out.every((why) => why !== "")) return use.nothing;
  const isEnough = tested >= inference.enoughTested;
  const { ranked, all } = isEnough ? standingOf(use, weights) : { ranked: [], all: [] };
  if (!isEnough || use.untried.length > 0 || (ranked.length === 0 && all.length !== 1)) {
    return noAdvice(use, tested, isEnough);
  }
  const [shortlist, worse] = [ranked.filter((one) => !isWorse(one)), ranked.filter(isWorse)];
  const unranked = all.filter((one) => ranked.length > 0 && !ranked.some(({ contender }) => contender === one));
  const lack = unranked.length === 1 ? "lacks" : "lack";
  const parts = [
    ranked.length === 0 ? `${namesOf(all, "or")}: no other is comparable` : firstOf(shortlist, use.margin),
    worse.length > 0 ? worseWords(worse) : null,
    unranked.length > 0 ? `${namesOf(unranked, "and")} ${lack} results of it` : null,
  ];
  return `${parts.filter((part) => part !== null).join("; ")}.`;
}

const isWorse = ({ verdict }) => verdict.worse !== undefined;

function firstOf(shortlist, margin) {
  const who = shortlist.map(({ contender }) => contender);
  const names = namesOf(who, "or");
  if (shortlist.length === 0) return "nobody has every result of it";
  if (shortlist.length === 1) return names;
  const others = shortlist.slice(1).map(({ verdict }) => verdict);
  if (others.every((verdict) => verdict.equal)) return `${names}, equal within ${percent(margin)}`;
  const rounds = mostOf(others.flatMap((verdict) => (verdict.rounds === undefined ? [] : [verdict.rounds])));
  const enough = rounds === null ? "" : `, ${rounds} would do (--rounds ${rounds})`;
  const ratios = shortlist.map(({ difference }) => Math.exp(difference - shortlist[0].difference));
  const shown = ratios.map(threeDigits);
  const named = who.map((one, place) => nameOfOne(one) + (shown[place] === "1.00" ? "" : ` (${shown[place]}×)`));
  const near = named.filter((_, place) => ratios[place] <= inference.farBehind);
  const far = named.slice(near.length);
  const answer =
    near.length === 1
      ? `${near[0]}, as far as so few rounds say${enough}`
      : `${someOf(near, "or")}: too few rounds to say which${enough}`;
  if (far.length === 0) return answer;
  return `${answer}; ${someOf(far, "and")} ${far.length === 1 ? "is" : "are"} far behind, but ran too seldom to be ruled out`;
}

// What a verdict says beside the best.
function placeWords(verdict, margin) {
  if (verdict.better !== undefined) return "best";
  if (verdict.worse !== undefined) return `costs ${atLeast(verdict.worse)}`;
  if (verdict.equal) return verdict.same ? "identical" : `equal within ${percent(margin)}`;
  return verdict.rounds === null ? "not enough rounds" : `not enough rounds: ${verdict.rounds} would do`;
}

// By how much the others are worse: the nearest by name, and everybody else.
function worseWords(worse) {
  const [nearest, ...others] = [...worse].sort((a, b) => a.verdict.worse - b.verdict.worse);
  const words = `${nameOfOne(nearest.contender)} costs ${atLeast(nearest.verdict.worse)}`;
  if (others.length === 0) return words;
  const next = others[0];
  if (others.length === 1) return `${words}, ${nameOfOne(next.contender)} ${atLeast(next.verdict.worse)}`;
  return `${words}, everybody else at least ${more(next.verdict.worse)}`;
}

// A bound of a difference; of one round that is free of noise, the difference itself.
function atLeast(share) {
  const isExact = inference.exact && inference.rounds.every((rounds) => rounds === 1);
  return isExact ? more(share) : `at least ${more(share)}`;
}

function noAdvice(use, tested, isEnough) {
  const missing = use.groups.filter((group) => !group.tested);
  const why = [];
  if (!isEnough) {
    const titles = listed(missing.map(({ title }) => title), "and");
    why.push(
      tested > 0
        ? `only ${percent(tested)} of what counts was tested, and not ${titles}`
        : `nothing of what counts was tested: ${titles}`,
    );
  }
  if (use.untried.length > 0) why.push(`nobody tried ${listed(use.untried, "and")}`);
  if (why.length === 0) why.push("nobody has every result that counts");
  const suites = isEnough ? [] : missing.flatMap(({ suite }) => (suite ? [suite] : []));
  if (use.untried.length > 0) suites.push("lifecycle");
  const options = [...new Set([...inference.suites, ...suites])].sort().map((suite) => `-s ${suite}`);
  // Tests of its own suites that have no result did not fit into its budget.
  const isLate = inference.budget !== undefined && suites.every((suite) => inference.suites.includes(suite));
  const what = isLate ? `a larger --budget than ${inference.budget}` : `\`${options.join(" ")}\``;
  const run = suites.length > 0 ? `: run the same with ${what}` : "";
  return `no advice, since ${why.join("; ")}${run}.`;
}

const nameOfOne = (contender) => contenders[contender].said;

const namesOf = (some, lastWord) => someOf(some.map(nameOfOne), lastWord);

function someOf(names, lastWord) {
  if (names.length <= 5) return listed(names, lastWord);
  return `${names.slice(0, 4).join(", ")} ${lastWord} ${names.length - 4} others`;
}

function listed(names, lastWord) {
  if (names.length < 2) return names.join("");
  return `${names.slice(0, -1).join(", ")} ${lastWord} ${names.at(-1)}`;
}

// `12 % more`, `3.40 times as much`, of a difference of logarithms.
function more(log) {
  const share = Math.expm1(log);
  return share < 0.995 ? `${percent(share)} more` : `${threeDigits(1 + share)} times as much`;
}

function percent(share) {
  const size = Math.abs(100 * share);
  const digits = size === 0 ? 0 : Math.min(6, Math.max(0, 1 - Math.floor(Math.log10(size))));
  const text = (100 * share).toFixed(digits);
  return `${text.includes(".") ? text.replace(/0+$/, "").replace(/\.$/, "") : text} %`;
}
