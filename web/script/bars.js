// Bar charts: a bar for the median, whiskers for its interval, a dot for each round, the number beside
// it; a word where there is no number.

const BARS = {
  width: 440,
  left: 128,
  right: 356,
  row: 21,
  bar: 11,
  top: 4,
  axis: 20,
  ...(NARROW && { width: 350, left: 112, right: 272 }),
};

function barChart(row, phase, shown, marked = null) {
  const order = readingOrder(row, shown);
  const figures = order.map((c) => figureOf(row, c));
  const values = figures.flatMap((f) => (f.words ? [] : [f.median, f.low, f.high, ...f.numbers]));
  const axis = linearAxis(values);
  const x = (value) => BARS.left + axis.share(value) * (BARS.right - BARS.left);
  const bottom = BARS.top + BARS.row * order.length;
  const chart = drawing(
    "bars",
    BARS.width,
    bottom + BARS.axis,
    `Bar chart: ${metricOf(row).title} of ${phase.name}, ${row.n[0]}, by contender.`,
  );
  barAxis(chart, axis, x, bottom, axisUnit(row));
  order.forEach((contender, index) => {
    const y = BARS.top + BARS.row * (index + 0.5);
    chart.append(bar(row, contender, figures[index], x, y, contender === marked));
  });
  return chart;
}

function barAxis(chart, axis, x, bottom, unit) {
  const lines = axis.ticks.map((tick) => `M${round(x(tick))} ${BARS.top}V${bottom}`).join("");
  chart.append(drawn("path", { class: "grid", d: lines }));
  chart.append(drawn("path", { class: "zero", d: `M${round(x(0))} ${BARS.top}V${bottom}` }));
  const widest = Math.max(...axis.ticks.map((tick) => tickLabel(tick).length));
  const every = widest * 7 * axis.ticks.length > BARS.right - BARS.left ? 2 : 1;
  axis.ticks.forEach((tick, index) => {
    if (index % every === 0) chart.append(label("tick", x(tick), bottom + 13, tickLabel(tick)));
  });
  chart.append(label("unit", BARS.width - 2, bottom + 13, unit));
}

function bar(row, contender, figure, x, y, marked) {
  const name = label("name", BARS.left - 8, y + 4, contenders[contender].short);
  const group = drawn("g", { class: marked ? "marked" : null }, name);
  if (figure.words) {
    const tone = figure.failed ? "failed" : "absent";
    group.append(label(`word ${tone}`, BARS.left + 6, y + 4, fittingWords(figure.words)));
    return titled(group, `${contenders[contender].name}: ${figure.words}`);
  }
  const tone = figure.best ? " best" : figure.worst ? " worst" : "";
  const [from, to] = [x(0), x(figure.median)].sort((a, b) => a - b);
  group.append(
    drawn("rect", {
      class: `bar${tone}`,
      x: round(from),
      y: round(y - BARS.bar / 2),
      width: round(Math.max(to - from, 0.5)),
      height: BARS.bar,
    }),
  );
  if (figure.numbers.length > 1) group.append(whisker(x(figure.low), x(figure.high), y));
  const dots = figure.numbers.map((value) => `M${round(x(value))} ${round(y)}h0`).join("");
  group.append(drawn("path", { class: "dot", d: dots }));
  group.append(label(`value${tone}`, BARS.width - 2, y + 4, textOf(row, figure)));
  return titled(group, sentence(row, contender, figure));
}

// Words that have room beside a name: without how often, where all of it has none.
function fittingWords(words) {
  const letters = (BARS.width - BARS.left - 8) / 6;
  if (words.length <= letters) return words;
  return words
    .split(", ")
    .map((part) => part.split(/ in |: /)[0])
    .join(", ");
}

function whisker(low, high, y) {
  const [left, right] = [round(low), round(high)];
  const ends = `M${left} ${round(y - 4)}v8M${right} ${round(y - 4)}v8`;
  return drawn("path", { class: "whisker", d: `M${left} ${round(y)}H${right}${ends}` });
}

// A figure as one would say it.
function sentence(row, contender, figure) {
  const name = contenders[contender].name;
  if (figure.words) return `${name}: ${figure.words}`;
  const interval =
    figure.numbers.length > 1
      ? `, interval ${numberOf(row, figure.low)} … ${numberOf(row, figure.high)} (${figure.confidence} %)`
      : ", one round";
  return `${name}: ${textOf(row, figure)}${unitBehind(row)}${interval}`;
}

// The table behind a chart that has none in the page yet.
function figureTable(row, phase, shown) {
  const rows = readingOrder(row, shown).map((contender) => {
    const figure = figureOf(row, contender);
    return element("tr", {}, element("th", { scope: "row" }, nameOf(contender)), ...figureCells(row, figure));
  });
  const caption = `${metricOf(row).title} of ${phase.name}, in ${row.u || "numbers"}`;
  return table(caption, [["Contender", ""], ...FIGURE_HEADS], rows);
}

const FIGURE_HEADS = ["Median", "Interval", "Confidence", "Rounds", "Variation", "Rank"].map((text) => [
  text,
  "n",
]);

function figureCells(row, figure) {
  const cell = (text, tone = "") => element("td", { class: `n ${tone}` }, text);
  if (figure.words) {
    return [
      cell(figure.words, figure.failed ? "failed" : "absent"),
      ...Array.from({ length: 5 }, () => cell("")),
    ];
  }
  const tone = figure.best ? "best" : figure.worst ? "worst" : "";
  const rounds = figure.rounds.map((r) => (typeof r === "number" ? numberOf(row, r) : r));
  return [
    cell(textOf(row, figure), tone),
    cell(`${numberOf(row, figure.low)} … ${numberOf(row, figure.high)}`),
    cell(`${figure.confidence} %`),
    cell(rounds.join("; ")),
    cell(figure.variation === null ? "" : `${threeFigures(figure.variation)} %`),
    cell(figure.rank ? `${figure.rank}${figure.tied ? "=" : ""}` : ""),
  ];
}
