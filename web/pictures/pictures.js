// Every chart of the page as a picture of its own: SVG that carries its style and its caption and needs
// no page around it.

const CAPTION = 26;
const LINE = 17;
const SOURCE = 16;
const MARGIN = 8;

function pictures() {
  const everybody = contenders.map((_, c) => c);
  return [
    ...guarded(["overview"], () => overviewPicture(everybody)),
    ...data.phases.flatMap((phase) =>
      guarded([data.tests[phase.test].name, phase.name], () => phasePictures(phase, everybody)),
    ),
    ...data.tests.flatMap((test) => guarded([test.name, "steps"], () => stepsPictures(test, everybody))),
    ...data.sweeps.flatMap((sweep) =>
      sweep.phases.flatMap((phase) =>
        guarded([sweep.name, phase.name], () => sweptPictures(sweep, phase, everybody)),
      ),
    ),
  ].map(alone, new Set());
}

// The pictures, or one that has only the error, so that the others are drawn all the same.
function guarded(name, pictures) {
  try {
    return pictures();
  } catch (error) {
    return [{ name, chart: () => { throw error; } }];
  }
}

// Of each phase how many times the cost of the best; a number or a word where there is no ratio.
function overviewPicture(shown) {
  const cell = (row, contender) => {
    const ratio = row.r[contender];
    if (ratio !== null) return { text: threeDigits(ratio), shade: `h${ratioStep(ratio)}` };
    const result = resultOf(row, contender);
    return { text: result.words ? wordOf(result) : textOf(row, result) + unitBehind(row) };
  };
  const rows = data.phases.map(({ test, name, rows: [row] }) => ({
    name: `${data.tests[test].name}/${name}`,
    cells: shown.map((contender) => cell(row, contender)),
  }));
  if (rows.length === 0) return [];
  const chart = () => heatChart({
    description: "Heat map: how many times the cost of the best, by phase and contender.",
    unit: "× the cost of the best",
    columns: shown.map((contender) => contenders[contender].label),
    rows,
  });
  const caption = "How many times the cost of the best: 1 is the best, 2 takes twice as long";
  return [{ name: ["overview"], caption, chart }];
}

function phasePictures(phase, shown) {
  const test = data.tests[phase.test].name;
  const place = `${test}/${phase.name}`;
  const pictures = phase.rows.map((row) => ({
    name: [test, phase.name, metricOf(row).name],
    caption: `${place}: ${metricOf(row).title}, ${axisUnit(row)} (${row.n[0]})`,
    chart: () => barChart(row, phase, shown),
  }));
  if (hasLatency(phase)) {
    const caption = `${place}: latency, percentiles`;
    pictures.push({ name: [test, phase.name, "percentiles"], caption, chart: () => latencyChart(phase, shown) });
  }
  if (hasProcessor(phase)) {
    const caption = `${place}: processor time (up) against ${metricOf(phase.rows[0]).title} (across)`;
    pictures.push({ name: [test, phase.name, "processor"], caption, chart: () => processorChart(phase, shown) });
  }
  return pictures;
}

function stepsPictures(test, shown) {
  return sequencesOf(test).map((sequence) => ({
    name: [test.name, ...(sequence.step ? [sequence.step] : []), "steps"],
    caption: `${sequence.name}: its steps, one after the other`,
    chart: () => stepsChart(sequence, shown),
  }));
}

// A curve over each axis that varies; over two axes a surface for each contender.
function sweptPictures(sweep, phase, shown) {
  if (phase.points.length === 0) return [];
  const { row } = phase.points[0];
  const name = [sweep.name, phase.name, ...(row.beside ? [metricOf(row).name] : [])];
  const place = `${sweep.name}/${phase.name}`;
  const axes = varying(sweep);
  const curves = (axes.length > 0 ? axes : [0]).flatMap((axis) => {
    const view = { axis, held: placeToHold(sweep, axis), logarithmic: isFlattened(phase) };
    if (sweepPoints(phase, view).length === 0) return [];
    const over = sweep.axes[axis].name;
    const caption = `${place}: ${metricOf(row).title} by ${over} (${row.n[0]})`;
    return [{ name: [...name, "by", over], caption, chart: () => sweepCurve(sweep, phase, view, shown) }];
  });
  const bars = largestFile(sweep, phase, axes, shown, name, place);
  if (axes.length < 2) return [...curves, ...bars];
  const [down, across] = axes;
  const [first, second] = [sweep.axes[down].name, sweep.axes[across].name];
  const surfaces = shown.map((contender) => ({
    name: [...name, "surface", contenders[contender].name],
    caption: `${place}, ${contenders[contender].label}: ${metricOf(row).title} by ${first} (down) and ${second} (across)`,
    chart: () => surface(sweep, phase, contender, [down, across], placeToHold(sweep, down)),
  }));
  return [...curves, ...bars, ...surfaces];
}

// Bars of the largest file, which fits no cache best.
function largestFile(sweep, phase, axes, shown, name, place) {
  const size = axes.find((axis) => sweep.axes[axis].name === "size");
  const point = size === undefined ? undefined : sweepPoints(phase, { axis: size, held: placeToHold(sweep, size) }).at(-1);
  if (!point) return [];
  const at = point.at.map((value, axis) => `${sweep.axes[axis].name} ${sweep.axes[axis].shown[value]}`);
  const { row } = point;
  const caption = `${place}, largest file (${at.join(", ")}): ${metricOf(row).title}, ${axisUnit(row)}`;
  return [{ name: [...name, "largest"], caption, chart: () => barChart(row, phase, shown) }];
}

// A chart as a document, or the error that drawing it gave, under a name that no other has; `this` holds the
// names that are taken.
function alone({ name: words, caption, chart }) {
  const name = unusedName(words.join("-"), this);
  try {
    return { name, words, svg: standingAlone(chart(), caption) };
  } catch (error) {
    return { name, words, error: `${error}` };
  }
}

function standingAlone(chart, caption) {
  const [, , width, height] = chart.getAttribute("viewBox").split(" ").map(Number);
  const wide = width + 2 * MARGIN;
  const above = textLines(caption, Math.floor(wide * 0.15));
  const below = textLines(data.source, Math.floor(wide * 0.17));
  const top = CAPTION + LINE * (above.length - 1);
  const high = height + top + MARGIN + SOURCE * below.length;
  const place = `translate(${MARGIN} ${top})`;
  const text = (name, y, step) => (words, index) => drawn("text", { class: name, x: MARGIN, y: y + step * index }, words);
  const picture = drawn(
    "svg",
    {
      xmlns: SVG,
      width: wide,
      height: high,
      viewBox: `0 0 ${wide} ${high}`,
      role: "img",
      "aria-label": chart.getAttribute("aria-label"),
    },
    // The style is put in by the program.
    drawn("style"),
    drawn("rect", { class: "paper", width: wide, height: high }),
    ...above.map(text("caption", 17, LINE)),
    drawn("g", { class: chart.getAttribute("class"), transform: place }, ...chart.childNodes),
    // Where and when the numbers were measured.
    ...below.map(text("source", high - 7 - SOURCE * (below.length - 1), SOURCE)),
  );
  return `${picture}\n`;
}

// Breaks a text between words. A word that is longer than a line is broken, too.
function textLines(text, letters) {
  const most = Math.max(letters, 8);
  const broken = [];
  for (const word of text.split(" ")) {
    const last = broken.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= most) broken[broken.length - 1] = `${last} ${word}`;
    else for (let at = 0; at < Math.max(word.length, 1); at += most) broken.push(word.slice(at, at + most));
  }
  return broken;
}

// A name of lower-case letters, digits and `-` alone, which no filesystem or shell takes amiss.
function unusedName(words, taken) {
  const plain = words.toLowerCase().slice(0, 120).replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "") || "chart";
  let name = plain;
  for (let number = 2; taken.has(name); number += 1) name = `${plain}-${number}`;
  taken.add(name);
  return name;
}
