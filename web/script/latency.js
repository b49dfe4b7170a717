// Latency as curves: how long the fastest half, the fastest 90 %, … of all operations took at most.

const PERCENTILES = [
  ["latency-p50", "50 %"],
  ["latency-p90", "90 %"],
  ["latency-p99", "99 %"],
  ["latency-p999", "99.9 %"],
  ["latency-p9999", "99.99 %"],
  ["latency-max", "worst"],
];
const TIMES = { s: 1, ms: 1e-3, µs: 1e-6, ns: 1e-9 };

const hasLatency = (phase) => rowOfMetric(phase, "latency-p50") !== undefined;

// Each percentile has a unit of its own in the tables; on one axis all are in that of the median.
function latencyChart(phase, shown) {
  const known = PERCENTILES.map(([name, tick]) => [rowOfMetric(phase, name), tick]);
  const rows = known.filter(([row]) => row);
  const unit = rows[0][0].u;
  const series = shown.map((contender) => {
    const results = rows.map(([row]) => resultOf(row, contender));
    const scaled = (result, row) => (result.median * TIMES[row.u]) / TIMES[unit];
    return {
      contender,
      values: results.map((f, i) => (f.words ? null : scaled(f, rows[i][0]))),
      texts: results.map((f, i) => `${rows[i][1]}: ${sentence(rows[i][0], contender, f)}`),
    };
  });
  return lineChart({
    description: `Line chart: latency of ${phase.name} by percentile, a line for each contender, in ${unit}.`,
    ticks: rows.map(([, tick]) => tick),
    unit: `${unit}, lower is better`,
    below: "share of all operations that took at most so long",
    series,
    logarithmic: true,
    scale: unit,
  });
}

function latencyTable(phase, shown) {
  const rows = PERCENTILES.map(([name, tick]) => [rowOfMetric(phase, name), tick]).filter(([row]) => row);
  const heads = rows.map(([row, tick]) => [`${tick}, ${row.u}`, "n"]);
  const lines = shown.map((contender) =>
    element(
      "tr",
      {},
      element("th", { scope: "row" }, nameOf(contender)),
      ...rows.map(([row]) => element("td", { class: "n" }, textOf(row, resultOf(row, contender)))),
    ),
  );
  return table(`Latency of ${phase.name}`, [["Filesystem", ""], ...heads], lines);
}
