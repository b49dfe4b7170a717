// Processor time against the primary metric of a phase: who is fast because it works less, and who is
// fast because it works more.

const PROCESSOR = ["cpu-machine", "cpu", "cpu-driver"];

// The time of the agent with that of the driver, as in the tables; the machine's where only that was measured.
function processorOf(phase, contender) {
  const number = (name) => {
    const row = rowOfMetric(phase, name);
    const result = row && resultOf(row, contender);
    return result && !result.words ? result.median : null;
  };
  const [machine, agent, driver] = PROCESSOR.map(number);
  if (!rowOfMetric(phase, "cpu")) return machine;
  return agent === null ? null : agent + (driver ?? 0);
}

const processorTitle = (phase) =>
  rowOfMetric(phase, "cpu") ? "processor, agent and driver" : "processors of the machine";

const hasProcessor = (phase) => PROCESSOR.some((name) => rowOfMetric(phase, name));

function processorChart(phase, shown) {
  const row = phase.rows[0];
  const points = shown
    .map((contender) => ({ contender, result: resultOf(row, contender), cpu: processorOf(phase, contender) }))
    .filter(({ result, cpu }) => !result.words && cpu !== null);
  const across = spanAxis(
    points.map((p) => p.result.median),
    5,
  );
  const up = spanAxis(points.map((p) => p.cpu));
  const height = Math.max(300, 11 * points.length + 120);
  const bottom = height - 34;
  const x = (value) => LINES.left + (SCATTER.right - LINES.left) * across.share(value);
  const y = (value) => bottom - (bottom - LINES.top) * up.share(value);
  const chart = drawing(
    "scatter",
    LINES.width,
    height,
    `Scatter chart: ${metricOf(row).title} of ${phase.name} across, processor time up, a point for each contender.`,
  );
  const grid = up.ticks.map((tick) => `M${LINES.left} ${round(y(tick))}H${SCATTER.right}`);
  const upright = across.ticks.map((tick) => `M${round(x(tick))} ${LINES.top}V${bottom}`);
  chart.append(drawn("path", { class: "grid", d: [...grid, ...upright].join("") }));
  const { words, unit } = readableTicks(across.ticks, row.u);
  for (const tick of up.ticks) chart.append(label("level", LINES.left - 6, y(tick) + 4, tickLabel(tick)));
  across.ticks.forEach((tick, index) => chart.append(label("tick", x(tick), bottom + 15, words[index])));
  chart.append(label("unit-above", 2, LINES.top - 7, `% of one processor, ${processorTitle(phase)}`));
  const below = `${metricOf(row).title}, ${unit ?? axisUnit(row)} (${row.n[0]})`;
  chart.append(label("below", (LINES.left + SCATTER.right) / 2, bottom + 30, below));
  const places = points.map((p) => [x(p.result.median), y(p.cpu)]);
  const names = points.map(({ contender }) => contenders[contender].short);
  const beside = namePlaces(places, names, [LINES.left, LINES.top, LINES.width, bottom]);
  points.forEach(({ contender, result, cpu }, index) => {
    const [px, py] = places[index];
    const marker = MARKERS[contender % MARKERS.length](round(px), round(py));
    const told = `${sentence(row, contender, result)}; ${threeDigits(cpu)} % of one processor`;
    const group = drawn("g", { class: `series ${seriesClass(contender)}` });
    group.append(titled(drawn("path", { class: "point", d: marker }), told));
    const [nx, ny, far] = beside[index];
    if (far)
      group.append(drawn("path", { class: "thread", d: `M${round(px)} ${round(py)}L${round(nx)} ${round(ny - 4)}` }));
    group.append(label("end", nx, ny, names[index]));
    chart.append(group);
  });
  return chart;
}

const SCATTER = { right: 600, ...(NARROW && { right: 340 }) };
const LETTER = 6.7;

// Where the names of points have room: beside them, above or below, or as near as nothing else lies, with a thread to them.
function namePlaces(points, names, [left, top, right, bottom]) {
  const taken = points.map(([x, y]) => [x - 5, y - 5, x + 5, y + 5]);
  return points.map(([x, y], index) => {
    const wide = LETTER * [...names[index]].length;
    const boxAt = (nx, ny) => [nx, ny - 10, nx + wide, ny + 2];
    const isFree = (box) =>
      box[0] >= left &&
      box[2] <= right &&
      box[1] >= top - 4 &&
      box[3] <= bottom &&
      !taken.some((other) => overlap(box, other));
    const near = [
      [x + 8, y + 4],
      [x - 8 - wide, y + 4],
      [x - wide / 2, y - 8],
      [x - wide / 2, y + 17],
    ];
    const far = Array.from({ length: 40 }, (_, step) => 18 + 6 * step).flatMap((away) => [
      [x + 12, y - away],
      [x + 12, y + away],
      [x - 12 - wide, y - away],
      [x - 12 - wide, y + away],
    ]);
    const place = [...near, ...far].findIndex(([nx, ny]) => isFree(boxAt(nx, ny)));
    const [nx, ny] = [...near, ...far][Math.max(place, 0)];
    taken.push(boxAt(nx, ny));
    return [nx, ny, place >= near.length];
  });
}

const overlap = (a, b) => a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3];

function processorTable(phase, shown) {
  const row = phase.rows[0];
  const rows = PROCESSOR.map((name) => rowOfMetric(phase, name)).filter(Boolean);
  const heads = [row, ...rows].map((r) => [`${metricOf(r).title}${r.u ? `, ${r.u}` : ""}`, "n"]);
  const lines = shown.map((contender) =>
    element(
      "tr",
      {},
      element("th", { scope: "row" }, nameOf(contender)),
      ...[row, ...rows].map((r) => element("td", { class: "n" }, textOf(r, resultOf(r, contender)))),
    ),
  );
  return table(`Processor time of ${phase.name}`, [["Filesystem", ""], ...heads], lines);
}
