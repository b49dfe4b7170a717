// The answer for a use with weights over the selection, as the analysis computes it (`stats::scores`).

const isBaseline = (contender) =>
  data.groups.some(({ title, members, named }) => !named && title === "baseline" && members.includes(contender));

const NO_RESULTS = "no result that counts";

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
  const takesPart = chosen.shown.filter((c) => against.get(c).reasons.length === 0);
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
    // Further tests would not help those who lack a need.
    nobody: takesPart.length === 0 && (tested > 0 || [...against.values()].every(({ brief }) => brief !== NO_RESULTS)),
    tested,
    missing: use.groups.filter((_, index) => had[index].length === 0),
    untried,
    ranked,
    advice: takesPart.length > 0 && tested >= inference.enoughTested && untried.length === 0 && isAnswer,
  };
}

// Neighbouring reasons that matter for the same reason are joined.
function joined(reasons) {
  const all = [];
  for (const { what, why } of reasons) {
    const last = all.at(-1);
    if (last && why && last.why === why) last.what += `, and ${what}`;
    else all.push({ what, why });
  }
  return all;
}

// Every reason against a contender that holds of these rows, the failures together.
function reasonsAgainst(use, contender, chosen, counting) {
  const holds = use.out[contender].filter(({ rows }) => !rows || rows.some(chosen.counts));
  const failed = holds.filter(({ failure }) => failure);
  const causes = failed.filter(({ skipped }) => !skipped);
  const failures = causes.length > 0 ? causes : failed;
  const reasons = joined([...holds.filter(({ failure }) => !failure), ...failures.slice(0, 1)]);
  const more = failures.length - 1;
  if (more > 0) reasons.push({ what: `and ${more} more ${more === 1 ? "failure" : "failures"}`, why: "" });
  const isNone = failures.length === 0 && !counting.some((row) => isComparable(row, contender));
  if (isNone && reasons.length === 0) reasons.push({ what: NO_RESULTS, why: "" });
  const brief = (causes[0] ?? holds[0])?.brief ?? NO_RESULTS;
  return { reasons, brief };
}
