// Line charts: a line for each contender over sizes, requests, threads or percentiles. Lines differ in
// colour, in dashes and in the shape of their points, and each has its name at its end.

const LINES = {
  width: 660,
  left: 56,
  right: 520,
  top: 18,
  line: 13,
  ...(NARROW && { width: 380, left: 44, right: 254 }),
};
const MARKERS = [
  (x, y) => `M${x - 3} ${y}a3 3 0 1 0 6 0a3 3 0 1 0 -6 0`,
  (x, y) => `M${x - 3} ${y - 3}h6v6h-6z`,
  (x, y) => `M${x} ${y - 4}l4 7h-8z`,
  (x, y) => `M${x} ${y - 4}l4 4l-4 4l-4 -4z`,
];

// `ticks`: what stands below each place; `series`: {contender, values, texts}; `rules`: {place, words},
// where a border lies between two places.
// `scale`: the unit of the values, where a tick may have another.
function lineChart({ description, ticks, unit, below, series, rules = [], logarithmic = false, scale = null }) {
  const values = series.flatMap((one) => one.values.filter((value) => value !== null));
  const axis = logarithmic ? logAxis(values) : linearAxis(values);
  const words = axis.ticks.map((tick) => (scale === null ? tickLabel(tick) : decadeLabel(tick, scale)));
  const height = Math.max(250, LINES.line * (series.length + 1) + 50);
  const bottom = height - 34;
  const x = (place) => LINES.left + (LINES.right - LINES.left) * (ticks.length > 1 ? place / (ticks.length - 1) : 0.5);
  const y = (value) => bottom - (bottom - LINES.top) * axis.share(value);
  const chart = drawing("lines", LINES.width, height, description);
  lineGrid(chart, axis, words, ticks, x, y, bottom, unit, below);
  lineRules(chart, rules, x, bottom);
  const ends = [];
  for (const one of series) {
    const points = one.values.map((value, place) => [x(place), value === null ? NaN : y(value)]);
    chart.append(curve(one, points));
    const last = points.filter((point) => Number.isFinite(point[1])).at(-1);
    if (last) ends.push({ contender: one.contender, from: last });
  }
  lineNames(chart, ends, bottom);
  return chart;
}

function lineGrid(chart, axis, words, ticks, x, y, bottom, unit, below) {
  const grid = axis.ticks.map((tick) => `M${LINES.left} ${round(y(tick))}H${LINES.right}`).join("");
  chart.append(drawn("path", { class: "grid", d: grid }));
  axis.ticks.forEach((tick, index) => {
    chart.append(label("level", LINES.left - 6, y(tick) + 4, words[index]));
  });
  chart.append(label("unit-above", 2, LINES.top - 7, unit));
  const room = (LINES.right - LINES.left) / Math.max(...ticks.map((tick) => tick.length * 6.5 + 8));
  const every = Math.max(1, Math.ceil(ticks.length / Math.max(1, Math.floor(room))));
  ticks.forEach((tick, place) => {
    if (place % every === 0) chart.append(label("tick", x(place), bottom + 15, tick));
  });
  chart.append(label("below", (LINES.left + LINES.right) / 2, bottom + 30, below));
}

function lineRules(chart, rules, x, bottom) {
  rules.forEach(({ place, words }, index) => {
    const at = round(x(place));
    chart.append(drawn("path", { class: "border", d: `M${at} ${LINES.top}V${bottom}` }));
    chart.append(label("border", at, LINES.top + LINES.line * (index + 0.8), words));
  });
}

function curve(one, points) {
  const classes = seriesClass(one.contender);
  const group = drawn("g", { class: `series ${classes}` });
  let [path, pen] = ["", "M"];
  for (const [px, py] of points) {
    if (Number.isFinite(py)) path += `${pen}${round(px)} ${round(py)}`;
    pen = Number.isFinite(py) ? "L" : "M";
  }
  group.append(drawn("path", { class: "line", d: path }));
  const marker = MARKERS[one.contender % MARKERS.length];
  points.forEach(([px, py], place) => {
    if (!Number.isFinite(py)) return;
    const point = drawn("path", { class: "point", d: marker(round(px), round(py)) });
    group.append(titled(point, one.texts[place]));
  });
  return group;
}

// Names at the ends of their lines, moved apart where they would lie over each other.
function lineNames(chart, ends, bottom) {
  const places = apart(
    ends.map((end) => end.from[1]),
    LINES.line,
    LINES.top,
    bottom,
  );
  ends.forEach(({ contender, from }, index) => {
    const y = places[index];
    const classes = seriesClass(contender);
    const thread = `M${round(from[0] + 5)} ${round(from[1])}L${LINES.right + 16} ${round(y)}`;
    chart.append(drawn("path", { class: `thread ${classes}`, d: thread }));
    chart.append(label(`end ${classes}`, LINES.right + 20, y + 4, contenders[contender].short));
  });
}

// Eight colours, three kinds of dashes: the colour and the dash of a contender are the same everywhere.
const seriesClass = (contender) => `k${contender % 8} dash${Math.floor(contender / 8) % 3}`;
