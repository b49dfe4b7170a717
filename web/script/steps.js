// A test whose phases follow each other on one filesystem, as stacked bars: how its time is spent, step
// by step. A total over a step that failed is invalid and has no bar beyond it.

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

const isSequence = (test) => timedSteps(test).length > 2;

// Seconds for each step, up to the first that has none or failed in some round; and which one that was. The total
// is the median over whole rounds, as the table of totals has it.
function stepsOf(steps, contender) {
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
  const { totals } = data.tests[steps[0].phase.test];
  return { seconds, total: totals?.[contender] ?? sum, signs };
}

// Whole sequences first, the shortest at the top.
function stepsOrder(steps, shown) {
  const sums = new Map(shown.map((c) => [c, stepsOf(steps, c).total ?? Infinity]));
  return [...shown].sort((a, b) => (sums.get(a) === sums.get(b) ? a - b : sums.get(a) - sums.get(b)));
}

function stepsChart(test, shown) {
  const steps = timedSteps(test);
  const order = stepsOrder(steps, shown);
  const sums = order.map((c) => stepsOf(steps, c).seconds.reduce((sum, value) => sum + value, 0));
  const unit = Object.keys(TIMES).find((u) => Math.max(...sums) >= TIMES[u]) ?? "ns";
  const axis = linearAxis(sums.map((sum) => sum / TIMES[unit]));
  const x = (seconds) => STEPS.left + (STEPS.right - STEPS.left) * axis.share(seconds / TIMES[unit]);
  const bottom = STEPS.top + STEPS.row * order.length;
  const keys = 14 * Math.ceil(steps.length / STEPS.keys);
  const chart = drawing(
    "steps",
    STEPS.width,
    bottom + STEPS.axis + keys,
    `Stacked bars: the time of ${test.name} step by step, a bar for each contender, in ${unit}.`,
  );
  const grid = axis.ticks.map((tick) => `M${round(x(tick * TIMES[unit]))} ${STEPS.top}V${bottom}`);
  chart.append(drawn("path", { class: "grid", d: grid.join("") }));
  for (const tick of axis.ticks)
    chart.append(label("tick", x(tick * TIMES[unit]), bottom + 14, tickLabel(tick)));
  chart.append(label("unit", STEPS.width - 2, bottom + 14, unit));
  chart.append(stepsKey(steps, bottom + STEPS.axis));
  order.forEach((contender, index) => {
    chart.append(stepsBar(steps, contender, STEPS.top + STEPS.row * (index + 0.5), x, unit));
  });
  return chart;
}

function stepsBar(steps, contender, y, x, unit) {
  const found = stepsOf(steps, contender);
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
    const { phase, row } = steps[index];
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

function stepsTable(test, shown) {
  const steps = timedSteps(test);
  const heads = steps.map(({ phase, row }) => [`${phase.name}, ${row.u}`, "n"]);
  const lines = stepsOrder(steps, shown).map((contender) => {
    const found = stepsOf(steps, contender);
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
  return table(`${test.title}, step by step`, [["Filesystem", ""], ...heads, ["Total", "n"]], lines);
}
