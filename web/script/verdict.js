// Answers in words, as every report has them: the same selection and weights give the same words.

// An answer with a capital first letter; the name of a filesystem keeps its letters.
const sentenceOf = (answer) =>
  /^(take |no |nothing)/.test(answer) ? answer[0].toUpperCase() + answer.slice(1) : answer;

// The answer for a use: `found` is what `weighed` makes of it.
function answerOf(use, found) {
  if (found.empty) return "Give at least one group a weight.";
  if (found.nobody) return nothingWords(found);
  if (!found.advice) return noAdvice(use, found);
  return conclusionWords(found.ranked, found.takesPart, amountsOf(use, found)) + notTested(found);
}

// The power cuts, if untested, and the groups with a weight that no test tried, as a sentence.
function notTested({ tested, missing, ranked, takesPart }) {
  const parts = powerCuts(ranked, takesPart) === null ? ["power cuts"] : [];
  if (missing.length > 0)
    parts.push(`${percent(1 - tested)} of the weight (${missing.map(({ title }) => title).join(", ")})`);
  return parts.length > 0 ? ` Not tested: ${listed(parts, "and")}.` : "";
}

// The losses of the contender to take, if known.
function powerCuts([first], [only]) {
  const pick = first?.contender ?? only;
  return contenders[pick]?.cuts ? `${nameOfOne(pick)} ${contenders[pick].cuts}` : null;
}

// What a ranking comes to; `all` are those who could be in it.
function conclusionWords(ranked, all, amounts = COSTS) {
  const unranked = all.filter((one) => ranked.length > 0 && !ranked.some(({ contender }) => contender === one));
  const second = runnerUp(ranked);
  const worse = ranked.filter((one) => isWorse(one) && one !== second);
  const parts = [
    ranked.length === 0
      ? `${amounts.isUse ? "take " : ""}${namesOf(all, "or")}: ${noOther(amounts)}`
      : firstWords(ranked, amounts),
    amounts.isUse ? powerCuts(ranked, all) : null,
    second ? secondWords(second) + cutsOfSecond(ranked, second, amounts) : null,
    worse.length > 0 ? worseWords(worse, amounts) : null,
    unranked.length > 0 ? lackWords(unranked) : null,
  ];
  return `${parts.filter((part) => part !== null).join(". ")}.`;
}

const noOther = ({ isUse, isAnyUnmeasured }) => {
  if (!isUse) return "no other is comparable";
  if (contenders.length === 1) return "no other was compared";
  if (isAnyUnmeasured) return "no other has results that count";
  return shownContenders().length === contenders.length ? "all others are ruled out" : "no other that is shown qualifies";
};

// The losses of the second, or that they are untested. Untested power cuts of the first are in the last sentence.
function cutsOfSecond(ranked, { contender }, { isUse }) {
  const { cuts } = contenders[contender];
  if (!isUse) return "";
  if (cuts?.startsWith("lost synced files")) return `; it ${cuts}`;
  return powerCuts(ranked, []) !== null && !cuts ? "; its power cuts are untested" : "";
}

const shareOf = (log) => Math.expm1(log);
const isUseful = ({ bound }) => bound !== null && shareOf(bound.most) <= inference.mostUseful;

// Of whom the answer says at most how much it costs, and in what sense.
const isOneSeed = () => inference.exact && inference.rounds.every((rounds) => rounds === 1);
const certainty = () => (isOneSeed() ? "with this seed" : inference.exact ? "with these seeds" : "(95 %)");

function firstWords(ranked, { isUse, unit, verb }) {
  const [first] = ranked;
  const name = nameOfOne(first.contender);
  if (!isUseful(first)) return noPromise(ranked, unit, isUse || !inference.budgetForUses);
  const most = shareOf(first.bound.most);
  const atMost = `${roundUp(most)} more`;
  const close = closeWords(first);
  if (isUse) {
    const other = first.displaced;
    const advantage =
      other === undefined ? "" : `: within 5 % of ${nameOfOne(other)}, and it ${contenders[first.contender].recovery}`;
    return most > 0
      ? `${close}take ${name}${advantage}. It ${verb} at most ${atMost}${unit} than the best here ${certainty()}`
      : `take ${name}${advantage}. No other ${verb} less${unit} ${certainty()}`;
  }
  return most > 0
    ? `${close}${name} ${verb} at most ${atMost}${unit} than the best`
    : `no other ${verb} less${unit} than ${name}`;
}

// Those that are close, and may cost less than the first.
function closeWords({ close, displaced }) {
  if (displaced !== undefined || close.length === 0) return "";
  const names = close.map(nameOfOne);
  return `${names.length <= 3 ? listed(names, "and") : `${names[0]} and ${names.length - 1} others`} are close: `;
}

// The most that a contender costs more than the best, for a table.
const excessWords = ({ most }) => (shareOf(most) > 0 ? `+${roundUp(shareOf(most))}` : "+0 %");

// Who came first, and why nothing useful is known about its cost.
function noPromise(ranked, unit, moreWorkHelps) {
  const [first, ...others] = ranked;
  const isLowest = others.every((one) => first.difference <= one.difference);
  const came = `${nameOfOne(first.contender)} ${isLowest ? "came first" : "is least likely to cost much more"}`;
  const isVague = first.bound !== null && !isStated(first.bound);
  if (first.bound === null || isVague) {
    const why = isSingle()
      ? "one number each does not show how far they vary"
      : inference.rounds.every((rounds) => rounds === 1)
        ? "one round does not show the noise (--rounds 5 does)"
        : isVague
          ? "the rounds vary too much for a bound"
          : "the rounds are too few to tell how results vary";
    const next = others
      .slice(0, 3)
      .map((one) => `${nameOfOne(one.contender)} (${threeDigits(Math.exp(one.difference - first.difference))}×)`);
    return `${came}${next.length > 0 ? ` before ${listed(next, "and")}` : ""}, but ${why}`;
  }
  const [most, forecast] = [shareOf(first.bound.most), shareOf(first.bound.forecast)];
  const bound = `${most < 1 ? `${roundUp(most)} more` : `${threeDigitsUp(1 + most)} times as much`}${unit}`;
  const hope = moreWorkHelps && forecast < most / 1.2 && forecast <= 1 ? `; ${inference.moreWork} would bring about ${roundUp(forecast)}` : "";
  return `${came}, but it may cost up to ${bound}${hope}`;
}

// The second, if a useful bound of its cost is known.
function runnerUp([first, second]) {
  return first && second && isUseful(first) && (isUseful(second) || isOneSeed()) ? second : null;
}

function secondWords({ contender, bound, verdict }) {
  const name = nameOfOne(contender);
  const most = shareOf(bound.most);
  const atMost = `at most ${roundUp(most)} more`;
  if (verdict.worse !== undefined) {
    if (isOneSeed()) return `Second: ${name}, ${more(bound.most)}`;
    return `Second: ${name}, at least ${percent(roundedDown(shareOf(verdict.worse)))} and ${atMost}`;
  }
  return most > 0 ? `Second: ${name}, ${atMost}` : `Second: ${name}, which is no worse`;
}

const lackWords = (some) => `${namesOf(some, "and")} ${some.length === 1 ? "lacks" : "lack"} results that others have`;

// The answer if no contender qualifies.
function nothingWords({ against }) {
  if (shownContenders().length === 0) return "nothing; no filesystem is shown.";
  return `nothing; every filesystem is ruled out: ${oneFactEach(against)}.`;
}

// The excluded contenders, each with one fact against it.
function oneFactEach(against) {
  const known = new Map();
  for (const [contender, { brief }] of against)
    known.set(brief, [...(known.get(brief) ?? []), contenders[contender].name]);
  return [...known].map(([brief, names]) => `${listed(names, "and")} (${brief})`).join("; ");
}

// What would bring a closer answer; nothing where that is in the answer.
function settledBy({ advice, ranked }, { margin }) {
  if (!advice) return "";
  const [first] = ranked;
  const isClose = !first || (first.bound !== null && shareOf(first.bound.most) <= margin);
  return data.settled[isClose ? 0 : 1];
}

// What another program measured has no command.
const canRunAgain = () => data.command !== "";

// Whether of what others measured there is one number each, of which they do not say how it varies.
const isSingle = () => !canRunAgain() && inference.rounds.every((rounds) => rounds === 1);

const NO_CLEAR_DIFFERENCE = "no clear difference";

const isWorse = ({ verdict }) => verdict.worse !== undefined;

// What the first of a ranking, or another one, is beside the best.
const rankWords = (verdict, index, margin) =>
  index === 0 && placeWords(verdict, margin) === NO_CLEAR_DIFFERENCE ? "first" : placeWords(verdict, margin);

// What a verdict says beside the best.
function placeWords(verdict, margin) {
  if (verdict.better !== undefined) return "best";
  if (verdict.worse !== undefined) return `costs ${boundOf(verdict.worse)}`;
  if (verdict.equal) return verdict.same ? "identical" : `equal within ${percent(margin)}`;
  return NO_CLEAR_DIFFERENCE;
}

// By how much the others are worse: the nearest by name, and everybody else.
function worseWords(worse, { verb, unit }) {
  const [nearest, ...others] = [...worse].sort((a, b) => a.difference - b.difference);
  const leastOfOthers = Math.min(...others.map((one) => one.verdict.worse));
  // A nearest with a larger bound than all others would say less than all together.
  if (others.length > 1 && leastOfOthers <= nearest.verdict.worse)
    return `${worse.length} others ${unit === "" ? "cost" : "need"} at least ${least(leastOfOthers)}`;
  const bound = ({ verdict }) => boundOf(verdict.worse);
  const words = `${nameOfOne(nearest.contender)} ${verb} ${bound(nearest)}`;
  if (others.length === 0) return words;
  if (others.length === 1) return `${words}, ${nameOfOne(others[0].contender)} ${bound(others[0])}`;
  return `${words}, ${others.length} others at least ${least(leastOfOthers)}`;
}

// A bound of a difference; of one round that is free of noise, the difference itself.
function boundOf(log) {
  return isOneSeed() ? more(log) : `at least ${least(log)}`;
}

// What is worse costs more; of space, the same files need more disk.
const COSTS = { verb: "costs", unit: "" };
const SPACE = { verb: "needs", unit: " disk" };

// The amounts of a use: of space only if nothing else has a weight.
function amountsOf(use, { against }) {
  const weights = weightsOf(use);
  const isSpace = use.groups.every(({ title }, index) => title === inference.space || !(weights[index] > 0));
  const isAnyUnmeasured = [...against.values()].some(({ brief }) => brief === NO_RESULTS);
  return { ...(isSpace ? SPACE : COSTS), isUse: true, isAnyUnmeasured };
}

// A share as a whole number of per cent, rounded up, at least 1 %.
const roundUp = (share) => `${Math.max(1, Math.ceil(100 * share - 1e-6))} %`;

// The suite of programs that the user named, which has no word of its own.
const PEERS = "peers";

function noAdvice(use, { tested, missing, untried }) {
  const isEnough = tested >= inference.enoughTested;
  const why = [];
  if (!isEnough) {
    const titles = listed(
      missing.map(({ title }) => title),
      "and",
    );
    why.push(
      tested > 0
        ? `only ${percent(tested)} of the weight has results, and not ${titles}`
        : `no group with a weight has a result that counts: ${titles}`,
    );
  }
  if (untried.length > 0) why.push(`${listed(untried, "and")} ${untried.length === 1 ? "was" : "were"} not tested`);
  if (why.length === 0) why.push("no filesystem has every result that counts");
  const suites = isEnough ? [] : missing.flatMap(({ suite }) => (suite ? [suite] : []));
  if (untried.length > 0) suites.push("lifecycle");
  const all = [...new Set([...inference.suites, ...suites])].filter((suite) => suite !== PEERS);
  const options = all.sort().map((suite) => `-s ${suite}`);
  const beside = inference.suites.includes(PEERS) ? " in addition to your programs" : "";
  // Tests of its own suites that have no result did not fit into its budget.
  const allRan = suites.every((suite) => inference.suites.includes(suite));
  const what = allRan ? `a larger --budget than ${inference.budget}` : `\`${options.join(" ")}\`${beside}`;
  // What ran and has no result failed.
  const helps = (canRunAgain() && !allRan) || (inference.budget !== undefined && suites.length > 0);
  const run = helps ? `: run the same with ${what}` : "";
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
const more = (log) => moreOf(Math.expm1(log));

// That of a lower bound.
const least = (log) => moreOf(roundedDown(Math.expm1(log)));

// Share from which it is shown as a multiple.
const MIN_MULTIPLE = 0.995;

const moreOf = (share) =>
  share < MIN_MULTIPLE ? `${percent(share)} more` : `${threeDigits(1 + share)} times as much`;

// Rounds a share down to the digits that are shown: a lower bound that is rounded up claims too much.
function roundedDown(share) {
  const isSmall = share < MIN_MULTIPLE;
  const value = isSmall ? 100 * share : 1 + share;
  if (value <= 0) return share;
  const exact = 10 ** (Math.floor(Math.log10(value)) - (isSmall ? 1 : 2));
  const step = isSmall ? Math.min(1, Math.max(1e-6, exact)) : exact;
  const down = Math.floor(value / step + 1e-3) * step;
  return isSmall ? down / 100 : down - 1;
}

function percent(share) {
  const size = Math.abs(100 * share);
  const digits = size === 0 ? 0 : Math.min(6, Math.max(0, 1 - Math.floor(Math.log10(size))));
  const text = (100 * share).toFixed(digits);
  return `${text.includes(".") ? text.replace(/0+$/, "").replace(/\.$/, "") : text} %`;
}
