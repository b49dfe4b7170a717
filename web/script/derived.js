// What follows from the state: who and what is shown, and all numbers that depend on it. It is computed when it is first asked
// for, and again when the selection has changed.

// What can be switched off: each test, and each sweep with all its points.
const choosable = [
  ...data.tests.flatMap(({ title }, test) =>
    data.phases.some((phase) => phase.test === test) ? [{ title, tests: [test] }] : [],
  ),
  ...data.sweeps.map(({ name, tests }) => ({ title: name, tests })),
];

let latest = null;

// The selection with what follows from it.
function chosen() {
  const key = JSON.stringify([state.hidden, state.off, state.noisy, state.alike]);
  if (latest?.key !== key) latest = { key, ...selected() };
  return latest;
}

function selected() {
  const shown = contenders.map((_, c) => c).filter((c) => !state.hidden.includes(c));
  const off = new Set(state.off.flatMap((entry) => choosable[entry].tests));
  const phases = data.phases.map(({ test, rows: [row] }) => !off.has(test) && isWanted(row, shown));
  const rows = inference.tests.map(() => false);
  data.phases.forEach(({ rows: [row] }, phase) => {
    if (phases[phase] && row.i !== undefined) rows[row.i] = true;
  });
  for (const sweep of data.sweeps) {
    if (off.has(sweep.tests[0])) continue;
    for (const { row } of sweep.phases.flatMap(({ points }) => points)) {
      if (row.i !== undefined && isWanted(row, shown)) rows[row.i] = true;
    }
  }
  const isEverything =
    shown.length === contenders.length && phases.every(Boolean) && off.size === 0 && !state.noisy && !state.alike;
  return { shown, off, phases, isEverything, counts: (row) => rows[row], marks: null };
}

// Whether a row is neither noisy nor the same for all, where such are hidden.
const isWanted = (row, shown) => !(state.noisy && isNoisy(row, shown)) && !(state.alike && isAlike(row, shown));

const measuredOf = (row, shown) => shown.map((c) => storedOf(row, c)).filter((stored) => typeof stored !== "string");

function isNoisy(row, shown) {
  const variations = measuredOf(row, shown).map(([, , , variation]) => variation ?? 0);
  return variations.length > 0 && variations.filter((v) => v > UNSTEADY_ABOVE).length * 3 >= variations.length;
}

function isAlike(row, shown) {
  const medians = measuredOf(row, shown).map(([median]) => median);
  if (medians.length < 2 || medians.some((m) => m <= 0)) return false;
  return Math.max(...medians) / Math.min(...medians) <= 1 + inference.margin;
}

const isShown = (contender) => !state.hidden.includes(contender);
const shownContenders = () => chosen().shown;
const isPhaseShown = (phase) => chosen().phases[phase];

// Of each contender how many times better the best of those shown is; null where there is no ratio.
function ratiosOf(row) {
  const ratios = row.r ?? [];
  const best = Math.min(...chosen().shown.map((c) => ratios[c] ?? Infinity));
  return ratios.map((ratio) => (ratio === null ? null : ratio / best));
}

// The mark of a result among those shown; undefined where the analysis has said it, null where there is none.
function markOf(row, contender) {
  const found = chosen();
  if (found.isEverything) return undefined;
  // Of other metrics than the primary ones nothing is known but how they stand among all.
  if (row.i === undefined) return null;
  found.marks ??= marksOf(inference.tests.map((_, i) => i).filter(found.counts), found.shown);
  return found.marks.get(row.i)?.get(contender) ?? null;
}

const weightsOf = (use) =>
  state.weights !== null && data.uses[state.use] === use ? state.weights : use.groups.map(({ weight }) => weight);

let weighing = null;

// What the selection comes to for the chosen use; null where there is no use.
function weighedUse() {
  const use = data.uses[state.use];
  if (!use) return null;
  const key = `${chosen().key} ${state.use} ${weightsOf(use)}`;
  if (weighing?.key !== key) weighing = { key, found: weighed(use, weightsOf(use), chosen()) };
  return weighing.found;
}

// Contenders shown, the best for the chosen use first; who is not ranked for it by what it costs on average; failing that as planned.
function ranking() {
  const ranked = weighedUse()?.ranked.map(({ contender }) => contender) ?? [];
  const costs = new Map(chosen().shown.map((c) => [c, averageCost(c)]));
  const rest = chosen().shown.filter((c) => !ranked.includes(c));
  rest.sort((a, b) => (costs.get(a) === costs.get(b) ? a - b : costs.get(a) - costs.get(b)));
  return [...ranked, ...rest];
}

function averageCost(contender) {
  const rows = data.phases.filter((_, phase) => isPhaseShown(phase)).map(({ rows: [row] }) => row);
  const logs = rows.flatMap((row) => (row.r?.[contender] ? [Math.log(row.r[contender])] : []));
  return logs.length > 0 ? logs.reduce((sum, log) => sum + log, 0) / logs.length : Infinity;
}
