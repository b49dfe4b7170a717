// Sweeps: a line for each contender over one axis with the others held, the borders of the caches
// marked; and where two axes vary, the whole surface of one contender as a heat map.

const varying = (sweep) => sweep.axes.map((_, i) => i).filter((i) => sweep.axes[i].values.length > 1);

// Whether a linear axis would flatten what is small: half of all values lie in its lowest tenth.
function isFlattened(phase) {
  const medians = phase.points.flatMap(({ row }) => contenders.map((_, c) => resultOf(row, c).median ?? []).flat());
  const positive = medians.filter((value) => value > 0).sort((a, b) => a - b);
  return positive.length > 2 && positive.at(-1) > 10 * positive[Math.floor(positive.length / 2)];
}

// Where the other axes are held at first, as the analysis has it.
const placeToHold = (sweep, axis) => [...sweep.held[axis]];

function sweepPoints(phase, view) {
  const matches = (point) => point.at.every((v, i) => i === view.axis || v === view.held[i]);
  return phase.points.filter(matches).sort((a, b) => a.at[view.axis] - b.at[view.axis]);
}

function sweepCurve(sweep, phase, view, shown) {
  const axis = sweep.axes[view.axis];
  const points = sweepPoints(phase, view);
  const series = shown.map((contender) => {
    const results = points.map((point) => resultOf(point.row, contender));
    return {
      contender,
      values: results.map((result) => (result.words ? null : result.median)),
      texts: results.map(
        (result, i) => `${axis.shown[points[i].at[view.axis]]}: ${sentence(points[i].row, contender, result)}`,
      ),
    };
  });
  const row = phase.points[0].row;
  const held = sweep.axes.flatMap((a, i) => (i === view.axis ? [] : [`${a.name} ${a.shown[view.held[i]]}`]));
  return lineChart({
    description: `Line chart: ${phase.name} over ${axis.name}, a line for each contender${held.length ? `, at ${held.join(", ")}` : ""}.`,
    ticks: points.map((point) => axis.shown[point.at[view.axis]]),
    unit: `${axisUnit(row)}, ${row.n[0]}`,
    below: [axis.name, ...held].join(" · "),
    series,
    rules:
      axis.name === "size"
        ? bordersAmong(
            sweep,
            points.map((p) => axis.values[p.at[view.axis]]),
          )
        : [],
    logarithmic: view.logarithmic,
    scale: row.u,
  });
}

// A border lies between two sizes where its logarithm does; above all of them it is not in sight.
function bordersAmong(sweep, sizes) {
  return sweep.borders.flatMap(({ words, size }) => {
    const next = sizes.findIndex((s) => s > size);
    if (next < 0) return [];
    if (next === 0) return [{ place: 0, words }];
    const [low, high] = [sizes[next - 1], sizes[next]];
    return [{ place: next - 1 + Math.log(size / low) / Math.log(high / low), words }];
  });
}

// One contender's results over two axes. Colours mean what they mean everywhere: how many times better the best of all
// contenders in this plane is, so that two surfaces can be compared.
function surface(sweep, phase, contender, [down, across], held) {
  const inPlane = phase.points.filter((p) => p.at.every((v, i) => i === down || i === across || v === held[i]));
  const medians = inPlane.flatMap((p) => contenders.map((_, c) => resultOf(p.row, c).median ?? []));
  const positive = medians.filter((value) => value > 0);
  const direction = phase.points[0].row.d;
  const best = direction > 0 ? Math.max(...positive) : Math.min(...positive);
  const shade = (value) => {
    if (!(value > 0) || direction === 0) return null;
    return `h${ratioStep(direction > 0 ? best / value : value / best)}`;
  };
  const cell = (i, j) => {
    const point = inPlane.find((p) => p.at[down] === i && p.at[across] === j);
    if (!point) return null;
    const result = resultOf(point.row, contender);
    const title = sentence(point.row, contender, result);
    if (result.words) return { text: wordOf(result), tone: result.failed ? "failed" : "absent", title };
    return { text: textOf(point.row, result), shade: shade(result.median), title };
  };
  const [first, second] = [sweep.axes[down], sweep.axes[across]];
  const unit = axisUnit(phase.points[0].row);
  const between = ({ name, values }) => (name === "size" ? bordersAmong(sweep, values) : []);
  return heatChart({
    borders: { rows: between(first), columns: between(second) },
    description: `Heat map: ${phase.name} of ${contenders[contender].label}, ${unit}: ${first.name} down, ${second.name} across.`,
    unit,
    columns: second.shown,
    rows: first.shown.map((name, i) => ({ name, cells: second.shown.map((_, j) => cell(i, j)) })),
  });
}

// The scale of a surface's colours: that of the results.
function surfaceLegend() {
  const swatches = [...data.steps, null].map((_, i) => element("span", { class: `swatch h${i}` }));
  return element(
    "p",
    { class: "legend scale" },
    "best of all contenders ",
    ...swatches,
    ` more than ${data.steps.at(-1)} times worse`,
  );
}

// One point of a sweep as bars, as an ordinary phase is shown.
function sweepPoint(phase, view, shown) {
  const point = phase.points.find(({ at }) => at.every((v, i) => v === view.held[i]));
  if (!point) return element("p", { class: "absent" }, "This point is not part of the sweep.");
  return barChart(point.row, phase, shown);
}

// The chart of a swept phase with its controls.
function sweepFigure(sweep, phase, host) {
  const axes = varying(sweep);
  const first = axes[0] ?? 0;
  const view = { axis: first, held: placeToHold(sweep, first), logarithmic: isFlattened(phase) };
  const controls = element("div", { class: "controls" });
  const panel = element("div", { class: "panel" });
  host.append(controls, panel);
  const draw = () => {
    const picture = view.axis === null ? sweepPoint : (...rest) => sweepCurve(sweep, ...rest);
    const title = `${sweep.name}: ${phase.name}`;
    const buttons = pictureButtons(title, () => panel.querySelector("svg"));
    panel.replaceChildren(picture(phase, view, shownContenders()), buttons);
  };
  const build = () => {
    controls.replaceChildren(
      ...sweepControls(sweep, phase, view, axes, draw, () => {
        build();
        draw();
        controls.querySelector("select").focus();
      }),
    );
  };
  build();
  onDemand(panel, draw);
}

function sweepControls(sweep, phase, view, axes, draw, rebuild) {
  const over = axes.map((i) => [String(i), `over ${sweep.axes[i].name}`]);
  const parts = [
    choice(
      "show",
      [...over, ["point", "one point, as bars"]],
      view.axis === null ? "point" : String(view.axis),
      (value) => {
        view.axis = value === "point" ? null : Number(value);
        view.held = placeToHold(sweep, view.axis ?? axes[0] ?? 0);
        // Of one point every axis is held, at first at the end.
        view.held = view.held.map((v, i) => (v === null && view.axis === null ? sweep.axes[i].values.length - 1 : v));
        rebuild();
      },
    ),
  ];
  for (const i of axes.filter((other) => other !== view.axis)) {
    const options = sweep.axes[i].shown.map((text, v) => [String(v), text]);
    parts.push(
      choice(`at ${sweep.axes[i].name}`, options, String(view.held[i]), (value) => {
        view.held[i] = Number(value);
        draw();
      }),
    );
  }
  if (view.axis === null) return parts;
  const scales = [
    ["linear", "linear"],
    ["log", "logarithmic"],
  ];
  parts.push(
    choice("scale", scales, view.logarithmic ? "log" : "linear", (value) => {
      view.logarithmic = value === "log";
      draw();
    }),
  );
  return parts;
}

// The surface of a swept phase, for one contender at a time.
function surfaceFigure(sweep, phase, host) {
  const plane = varying(sweep).slice(0, 2);
  const held = placeToHold(sweep, plane[0]);
  let contender = shownContenders()[0] ?? 0;
  const panel = element("div", { class: "panel" });
  const draw = () => {
    if (!isShown(contender)) contender = shownContenders()[0] ?? contender;
    const options = shownContenders().map((c) => [String(c), contenders[c].label]);
    const select = choice("contender", options, String(contender), (value) => {
      contender = Number(value);
      draw();
      panel.querySelector("select").focus();
    });
    panel.replaceChildren(
      element("div", { class: "controls" }, select),
      element("div", { class: "scroll", tabindex: "0" }, surface(sweep, phase, contender, plane, held)),
      surfaceLegend(),
      pictureButtons(`${sweep.name}: ${phase.name}, ${contenders[contender].label}`, () => panel.querySelector("svg")),
    );
  };
  host.append(element("figcaption", {}, element("strong", {}, "Surface")), panel);
  onDemand(panel, draw);
}
