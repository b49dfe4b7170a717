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
  const results = order.map((c) => resultOf(row, c));
  const measured = results.filter((f) => !f.words);
  const most = clippedAt(measured.map((f) => f.median));
  const values = measured.flatMap((f) => (f.median > most ? [most] : [f.median, f.low, f.high, ...f.numbers]));
  const axis = linearAxis(values);
  const end = axis.ticks.at(-1);
  const x = (value) => BARS.left + axis.share(Math.min(value, end)) * (BARS.right - BARS.left);
  const bottom = BARS.top + BARS.row * order.length;
  const chart = drawing(
    "bars",
    BARS.width,
    bottom + BARS.axis,
    `Bar chart: ${metricOf(row).title} of ${phase.name}, ${row.n[0]}, by contender.`,
  );
  barAxis(chart, axis, x, bottom, row);
  order.forEach((contender, index) => {
    const y = BARS.top + BARS.row * (index + 0.5);
    chart.append(bar(row, contender, results[index], { x, y, end }, contender === marked));
  });
  return chart;
}

function barAxis(chart, axis, x, bottom, row) {
  const lines = axis.ticks.map((tick) => `M${round(x(tick))} ${BARS.top}V${bottom}`).join("");
  chart.append(drawn("path", { class: "grid", d: lines }));
  chart.append(drawn("path", { class: "zero", d: `M${round(x(0))} ${BARS.top}V${bottom}` }));
  const { words, unit: own } = readableTicks(axis.ticks, row.u);
  const widest = Math.max(...words.map((word) => word.length));
  const every = widest * 7 * axis.ticks.length > BARS.right - BARS.left ? 2 : 1;
  axis.ticks.forEach((tick, index) => {
    if (index % every === 0) chart.append(label("tick", x(tick), bottom + 13, words[index]));
  });
  chart.append(label("unit", BARS.width - 2, bottom + 13, own ?? axisUnit(row)));
}

function bar(row, contender, result, { x, y, end }, marked) {
  const name = label("name", BARS.left - 8, y + 4, contenders[contender].short);
  const group = drawn("g", { class: marked ? "marked" : null }, name);
  if (result.words) {
    const tone = result.failed ? "failed" : "absent";
    group.append(label(`word ${tone}`, BARS.left + 6, y + 4, fittingWords(result.words)));
    return titled(group, `${contenders[contender].name}: ${result.words}`);
  }
  const tone = result.best ? " best" : result.worst ? " worst" : "";
  const [from, to] = [x(0), x(result.median)].sort((a, b) => a - b);
  group.append(
    drawn("rect", {
      class: `bar${tone}`,
      x: round(from),
      y: round(y - BARS.bar / 2),
      width: round(Math.max(to - from, 0.5)),
      height: BARS.bar,
    }),
  );
  if (result.median > end) group.append(tear(x(end), y, BARS.bar));
  else {
    if (result.numbers.length > 1) group.append(whisker(x(result.low), x(result.high), y));
    const dots = result.numbers.map((value) => `M${round(x(value))} ${round(y)}h0`).join("");
    group.append(drawn("path", { class: "dot", d: dots }));
  }
  group.append(label(`value${tone}`, BARS.width - 2, y + 4, textOf(row, result)));
  return titled(group, sentence(row, contender, result));
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

// Where a bar is longer than there is room for.
const tear = (x, y, high) =>
  drawn("path", {
    class: "tear",
    d: `M${round(x - 10)} ${round(y + high / 2 + 2)}l5 ${-high - 4}M${round(x - 5)} ${round(y + high / 2 + 2)}l5 ${-high - 4}`,
  });

function whisker(low, high, y) {
  const [left, right] = [round(low), round(high)];
  const ends = `M${left} ${round(y - 4)}v8M${right} ${round(y - 4)}v8`;
  return drawn("path", { class: "whisker", d: `M${left} ${round(y)}H${right}${ends}` });
}

// A result as one would say it.
function sentence(row, contender, result) {
  const name = contenders[contender].name;
  if (result.words) return `${name}: ${result.words}`;
  let interval = ", one round";
  if (result.numbers.length > 1) {
    const varies = result.variation !== 0;
    interval = varies
      ? `, interval ${intervalOf(row, result)} (${result.confidence} %)`
      : `, ${intervalOf(row, result)}`;
  }
  return `${name}: ${textOf(row, result)}${unitBehind(row)}${interval}`;
}

// The table behind a chart that has none in the page yet.
function resultTable(row, phase, shown) {
  const rows = readingOrder(row, shown).map((contender) => {
    const result = resultOf(row, contender);
    return element("tr", {}, element("th", { scope: "row" }, nameOf(contender)), ...resultCells(row, result));
  });
  const caption = `${metricOf(row).title} of ${phase.name}, in ${row.u || "numbers"}`;
  return table(caption, [["Filesystem", ""], ...RESULT_HEADS], rows);
}

const RESULT_HEADS = ["Median", "Interval", "Confidence", "Rounds", "Variation", "Beside the best"].map((text) => [
  text,
  "n",
]);

function resultCells(row, result) {
  const cell = (text, tone = "") => element("td", { class: `n ${tone}` }, text);
  if (result.words) {
    return [cell(result.words, result.failed ? "failed" : "absent"), ...Array.from({ length: 5 }, () => cell(""))];
  }
  const tone = result.best ? "best" : result.worst ? "worst" : "";
  const rounds = result.rounds.map((r) => (typeof r === "number" ? numberOf(row, r) : r));
  return [
    cell(textOf(row, result), tone),
    cell(intervalOf(row, result)),
    cell(`${result.confidence} %`),
    cell(rounds.join("; ")),
    cell(result.variation === null ? "" : `${threeDigits(result.variation)} %`),
    cell(result.place),
  ];
}
