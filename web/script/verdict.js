// Answers in words, as every report has them: the same selection and weights give the same words.

// The answer for a use: `found` is what `weighed` makes of it.
function answerOf(use, found) {
  if (found.empty) return "Give at least one group a weight.";
  if (found.tested > 0 && found.takesPart.length === 0) return nothingWords(found);
  if (!found.advice) return noAdvice(use, found);
  return conclusionWords(found.ranked, found.takesPart, use.margin);
}

// What a ranking comes to; `all` are those who could be in it.
function conclusionWords(ranked, all, margin, amounts = COSTS) {
  const [shortlist, worse] = [ranked.filter((one) => !isWorse(one)), ranked.filter(isWorse)];
  const unranked = all.filter((one) => ranked.length > 0 && !ranked.some(({ contender }) => contender === one));
  const parts = [
    ranked.length === 0 ? `${namesOf(all, "or")}: no other is comparable` : shortlistWords(shortlist, margin),
    worse.length > 0 ? worseWords(worse, amounts) : null,
    unranked.length > 0 ? lackWords(unranked) : null,
  ];
  return `${parts.filter((part) => part !== null).join("; ")}.`;
}

const lackWords = (some) => `${namesOf(some, "and")} ${some.length === 1 ? "lacks" : "lack"} results that others have`;

// Why each contender is ruled out, those for the same reason together.
function nothingWords({ against }) {
  const why = new Map();
  for (const [contender, reasons] of against) {
    const reason = reasons.join("; ");
    why.set(reason, [...(why.get(reason) ?? []), contenders[contender].name]);
  }
  const each = [...why].map(([reason, names]) => `${listed(names, "and")} (${reason})`);
  return `nothing; each contender is ruled out: ${each.join("; ")}.`;
}

// What would settle what an answer leaves open; nothing where that is in the answer.
function settledBy({ advice, ranked }) {
  if (!advice) return "";
  const shortlist = ranked.filter((one) => !isWorse(one));
  const others = shortlist.slice(1).map(({ verdict }) => verdict);
  if (others.every((verdict) => verdict.equal)) return data.settled[0];
  const rounds = openRounds(others);
  if (rounds === null) return data.settled[1];
  if (!canRunAgain()) return `it would take ${rounds}, measured as these were.`;
  return `\`${data.command.replace(/ --rounds \d+/, ` --rounds ${rounds}`)}\``;
}

// What another program measured has no command.
const canRunAgain = () => data.command !== "";

// Whether of what others measured there is one number each, of which they do not say how it varies.
const isSingle = () => !canRunAgain() && inference.rounds.every((rounds) => rounds === 1);

const openRounds = (verdicts) =>
  mostOf(verdicts.flatMap((verdict) => (verdict.rounds === undefined ? [] : [verdict.rounds])));

const isWorse = ({ verdict }) => verdict.worse !== undefined;

function shortlistWords(shortlist, margin) {
  const who = shortlist.map(({ contender }) => contender);
  const names = namesOf(who, "or");
  if (shortlist.length === 0) return "no contender has every result of it";
  if (shortlist.length === 1) return names;
  const others = shortlist.slice(1).map(({ verdict }) => verdict);
  if (others.every((verdict) => verdict.equal)) return `${names}, equal within ${percent(margin)}`;
  const rounds = openRounds(others);
  const option = canRunAgain() ? ` (--rounds ${rounds})` : "";
  const enough = rounds === null ? "" : `, ${rounds} would do${option}`;
  const ratios = shortlist.map(({ difference }) => Math.exp(difference - shortlist[0].difference));
  const shown = ratios.map(threeDigits);
  // The first ratio shows what it is.
  const first = shown.findIndex((ratio) => ratio !== "1.00");
  const ratioOf = (place) =>
    place === first
      ? ` (${isSingle() ? "" : "so far "}${shown[place]}× ${nameOfOne(who[0])})`
      : ` (${shown[place]}×)`;
  const named = who.map((one, place) => nameOfOne(one) + (shown[place] === "1.00" ? "" : ratioOf(place)));
  const near = named.filter((_, place) => ratios[place] <= inference.farBehind);
  const far = named.slice(near.length);
  const [few, which, unsure] = isSingle()
    ? ["judged by one number each", "one number each does not say which", "how far a number varies is not stated"]
    : [`with too few rounds to be certain${enough}`, `too few rounds to say which${enough}`, "not yet ruled out"];
  const answer = near.length === 1 ? `${near[0]}, ${few}` : `${someOf(near, "or")}: ${which}`;
  if (far.length === 0) return answer;
  return `${answer}; ${someOf(far, "and")} ${far.length === 1 ? "is" : "are"} far behind, but ${unsure}`;
}

// What a verdict says beside the best.
function placeWords(verdict, margin) {
  if (verdict.better !== undefined) return "best";
  if (verdict.worse !== undefined) return `costs ${boundOf(more(verdict.worse))}`;
  if (verdict.equal) return verdict.same ? "identical" : `equal within ${percent(margin)}`;
  return verdict.rounds === null ? "not enough rounds" : `not enough rounds: ${verdict.rounds} would do`;
}

// By how much the others are worse: the nearest by name, and everybody else.
function worseWords(worse, { verb, amount }) {
  const [nearest, ...others] = [...worse].sort((a, b) => a.verdict.worse - b.verdict.worse);
  const bound = ({ verdict }) => boundOf(amount(verdict.worse));
  const words = `${nameOfOne(nearest.contender)} ${verb} ${bound(nearest)}`;
  if (others.length === 0) return words;
  const [next] = others;
  if (others.length === 1) return `${words}, ${nameOfOne(next.contender)} ${bound(next)}`;
  return `${words}, all others at least ${amount(next.verdict.worse)}`;
}

// A bound of a difference; of one round that is free of noise, the difference itself.
function boundOf(amount) {
  const isExact = inference.exact && inference.rounds.every((rounds) => rounds === 1);
  return isExact ? amount : `at least ${amount}`;
}

// What is worse costs more; of space it leaves less.
const COSTS = { verb: "costs", amount: (log) => more(log) };
const SPACE = { verb: "leaves", amount: (log) => `${percent(-Math.expm1(-log))} less` };

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
        ? `only ${percent(tested)} of the weight was tested, and not ${titles}`
        : `no group with a weight has a result: ${titles}`,
    );
  }
  if (untried.length > 0) why.push(`${listed(untried, "and")} ${untried.length === 1 ? "was" : "were"} not tested`);
  if (why.length === 0) why.push("no contender has every result that counts");
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
