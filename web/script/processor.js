// Processor time against the primary metric of a phase: who is fast because it works less, and who is
// fast because it works more.

const PROCESSOR = ["cpu-machine", "cpu", "cpu-driver"];

// The machine's time where it was measured, else that of the agent with that of the driver.
function processorOf(phase, contender) {
  const number = (name) => {
    const row = rowOfMetric(phase, name);
    const result = row && resultOf(row, contender);
    return result && !result.words ? result.median : null;
  };
  const [machine, agent, driver] = PROCESSOR.map(number);
  if (rowOfMetric(phase, "cpu-machine")) return machine;
  return agent === null ? null : agent + (driver ?? 0);
}

const processorTitle = (phase) =>
  rowOfMetric(phase, "cpu-machine") ? "processors of the machine" : "processor, agent and driver";

const hasProcessor = (phase) => PROCESSOR.some((name) => rowOfMetric(phase, name));

function processorChart(phase, shown) {
  const row = phase.rows[0];
  const points = shown
    .map((contender) => ({ contender, result: resultOf(row, contender), cpu: processorOf(phase, contender) }))
    .filter(({ result, cpu }) => !result.words && cpu !== null);
  const across = linearAxis(
    points.map((p) => p.result.median),
    5,
  );
  const up = linearAxis(points.map((p) => p.cpu));
  const height = Math.max(260, LINES.line * (points.length + 1) + 50);
  const bottom = height - 34;
  const x = (value) => LINES.left + (LINES.right - LINES.left) * across.share(value);
  const y = (value) => bottom - (bottom - LINES.top) * up.share(value);
  const chart = drawing(
    "scatter",
    LINES.width,
    height,
    `Scatter chart: ${metricOf(row).title} of ${phase.name} across, processor time up, a point for each contender.`,
  );
  const grid = up.ticks.map((tick) => `M${LINES.left} ${round(y(tick))}H${LINES.right}`);
  const upright = across.ticks.map((tick) => `M${round(x(tick))} ${LINES.top}V${bottom}`);
  chart.append(drawn("path", { class: "grid", d: [...grid, ...upright].join("") }));
  for (const tick of up.ticks) chart.append(label("level", LINES.left - 6, y(tick) + 4, tickLabel(tick)));
  for (const tick of across.ticks) chart.append(label("tick", x(tick), bottom + 15, tickLabel(tick)));
  chart.append(label("unit-above", 2, LINES.top - 7, `% of one processor, ${processorTitle(phase)}`));
  const below = `${metricOf(row).title}, ${axisUnit(row)} (${row.n[0]})`;
  chart.append(label("below", (LINES.left + LINES.right) / 2, bottom + 30, below));
  const places = points.map((p) => [x(p.result.median), y(p.cpu)]);
  points.forEach(({ contender, result, cpu }, index) => {
    const [px, py] = places[index];
    const marker = MARKERS[contender % MARKERS.length](round(px), round(py));
    const group = drawn("g", { class: `series ${seriesClass(contender)}` });
    group.append(
      titled(
        drawn("path", { class: "point", d: marker }),
        `${sentence(row, contender, result)}; ${threeDigits(cpu)} % of one processor`,
      ),
    );
    chart.append(group);
  });
  lineNames(
    chart,
    points.map(({ contender }, index) => ({ contender, from: places[index] })),
    bottom,
  );
  return chart;
}

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
  return table(`Processor time of ${phase.name}`, [["Contender", ""], ...heads], lines);
}
