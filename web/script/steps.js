// Phases that follow each other on one filesystem, as stacked bars: how the time of a test, or of a step
// of several phases, is spent. A total over a phase that failed is invalid and has no bar beyond it.

const STEPS = {
  width: 660,
  left: 128,
  right: 560,
  row: 24,
  bar: 15,
  top: 4,
  axis: 32,
  keys: 4,
  key: 130,
  ...(NARROW && { width: 380, left: 112, right: 300, keys: 2 }),
};

// The phases of a test that take time, with the row that says how long.
function timedSteps(test) {
  return data.phases
    .filter((phase) => data.tests[phase.test] === test)
    .map((phase) => ({ phase, row: rowOfMetric(phase, "elapsed") }))
    .filter(({ row }) => row);
}

// The sequences of a test: all its phases, and those of each step that groups several.
function sequencesOf(test) {
  const steps = timedSteps(test);
  const whole = { name: test.name, what: "Step by step", steps, totals: test.totals };
  const names = new Set(steps.map(({ phase }) => phase.step).filter(Boolean));
  const groups = [...names].map((step) => ({
    step,
    name: `${test.name}: ${step}`,
    what: `Step ${step}, phase by phase`,
    steps: steps.filter(({ phase }) => phase.step === step),
  }));
  return [whole, ...groups].filter((of) => of.steps.length > (of === whole ? 2 : 1));
}

// Seconds for each phase, up to the first that has none or failed in some round; and which one that was. The total
// of a test is the median over whole rounds, as the table of totals has it.
function stepsOf({ steps, totals }, contender) {
  const seconds = [];
  const signs = new Set();
  for (const { phase, row } of steps) {
    const result = resultOf(row, contender);
    if (result.words) return { seconds, broken: `${phase.name} ${wordOf(result)}`, failed: result.failed };
    if (result.signs.includes("!"))
      return { seconds, broken: `${phase.name} failed in some round`, failed: true };
    seconds.push(result.median * TIMES[row.u]);
    if (result.signs.includes("≥")) signs.add("≥");
  }
  const sum = seconds.reduce((sum, value) => sum + value, 0);
  return { seconds, total: totals?.[contender] ?? sum, signs };
}

// Whole sequences first, the shortest at the top.
function stepsOrder(sequence, shown) {
  const sums = new Map(shown.map((c) => [c, stepsOf(sequence, c).total ?? Infinity]));
  return [...shown].sort((a, b) => (sums.get(a) === sums.get(b) ? a - b : sums.get(a) - sums.get(b)));
}

function stepsChart(sequence, shown) {
  const { steps } = sequence;
  const order = stepsOrder(sequence, shown);
  const sums = order.map((c) => stepsOf(sequence, c).seconds.reduce((sum, value) => sum + value, 0));
  const unit = Object.keys(TIMES).find((u) => Math.max(...sums) >= TIMES[u]) ?? "ns";
  const axis = linearAxis(sums.map((sum) => sum / TIMES[unit]));
  const x = (seconds) => STEPS.left + (STEPS.right - STEPS.left) * axis.share(seconds / TIMES[unit]);
  const bottom = STEPS.top + STEPS.row * order.length;
  const keys = 14 * Math.ceil(steps.length / STEPS.keys);
  const chart = drawing(
    "steps",
    STEPS.width,
    bottom + STEPS.axis + keys,
    `Stacked bars: the time of ${sequence.name}, part by part, a bar for each contender, in ${unit}.`,
  );
  const grid = axis.ticks.map((tick) => `M${round(x(tick * TIMES[unit]))} ${STEPS.top}V${bottom}`);
  chart.append(drawn("path", { class: "grid", d: grid.join("") }));
  for (const tick of axis.ticks)
    chart.append(label("tick", x(tick * TIMES[unit]), bottom + 14, tickLabel(tick)));
  chart.append(label("unit", STEPS.width - 2, bottom + 14, unit));
  chart.append(stepsKey(steps, bottom + STEPS.axis));
  order.forEach((contender, index) => {
    chart.append(stepsBar(sequence, contender, STEPS.top + STEPS.row * (index + 0.5), x, unit));
  });
  return chart;
}

function stepsBar(sequence, contender, y, x, unit) {
  const found = stepsOf(sequence, contender);
  const group = drawn("g", {}, label("name", STEPS.left - 8, y + 4, contenders[contender].short));
  let begin = 0;
  found.seconds.forEach((seconds, index) => {
    const [from, to] = [x(begin), x(begin + seconds)];
    const piece = drawn("rect", {
      class: `step${found.broken ? " cut" : ""} part${index % 12}`,
      x: round(from),
      y: round(y - STEPS.bar / 2),
      width: round(Math.max(to - from, 0.3)),
      height: STEPS.bar,
    });
    const { phase, row } = sequence.steps[index];
    group.append(titled(piece, `${phase.name}: ${sentence(row, contender, resultOf(row, contender))}`));
    begin += seconds;
  });
  const end = x(begin) + 8;
  if (found.broken) {
    const words = `no total: ${found.broken}`;
    const room = STEPS.width - 6.2 * words.length;
    group.append(
      label(
        `word ${found.failed ? "failed" : "absent"}`,
        Math.max(STEPS.left, Math.min(end, room)),
        y + 4,
        words,
      ),
    );
  } else group.append(label("total", end, y + 4, totalText(found, unit)));
  return group;
}

const totalText = ({ total, signs }, unit) =>
  `${signs.has("≥") ? "≥" : ""}${threeDigits(total / TIMES[unit])} ${unit}`;

// Which colour is which step, below the bars.
function stepsKey(steps, top) {
  const items = steps.map(({ phase }, index) => {
    const x = STEPS.left + STEPS.key * (index % STEPS.keys);
    const y = top + 14 * Math.floor(index / STEPS.keys);
    const swatch = drawn("rect", { class: `part${index % 12}`, x, y: y - 8, width: 9, height: 9 });
    return titled(drawn("g", {}, swatch, label("key", x + 13, y, shortened(phase.name, 18))), phase.name);
  });
  return drawn("g", {}, ...items);
}

function stepsTable(sequence, shown) {
  const { steps } = sequence;
  const heads = steps.map(({ phase, row }) => [`${phase.name}, ${row.u}`, "n"]);
  const lines = stepsOrder(sequence, shown).map((contender) => {
    const found = stepsOf(sequence, contender);
    const cells = steps.map(({ row }) =>
      element("td", { class: "n" }, textOf(row, resultOf(row, contender))),
    );
    return element(
      "tr",
      {},
      element("th", { scope: "row" }, nameOf(contender)),
      ...cells,
      element(
        "td",
        { class: `n ${found.broken ? "failed" : ""}` },
        found.broken ? "invalid" : totalText(found, "s"),
      ),
    );
  });
  return table(`${sequence.name}, part by part`, [["Filesystem", ""], ...heads, ["Total", "n"]], lines);
}
