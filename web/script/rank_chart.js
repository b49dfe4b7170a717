// Contenders by rank: a bar for what each costs as a multiple of the first's, a whisker for its interval, a bracket around those
// who may be the best. Bars that would flatten all others end in a tear.

const RANKS = {
  width: 640,
  left: 150,
  right: 560,
  row: 23,
  bar: 13,
  top: 4,
  axis: 20,
  ...(NARROW && { width: 356, left: 138, right: 302, row: 22 }),
};

function rankChart(ranked, margin) {
  const ratio = ({ difference }) => Math.exp(difference - ranked[0].difference);
  const ends = ranked.map((one) => one.interval?.map(Math.exp) ?? [ratio(one), ratio(one)]);
  const most = clippedAt([...ranked.map(ratio), ...ends.filter((_, i) => ratio(ranked[i]) < 3).flat()]);
  const axis = linearAxis([
    Math.min(most, Math.max(...ranked.map(ratio), ...ends.map(([, high]) => Math.min(high, most)))),
  ]);
  const top = axis.ticks.at(-1);
  const x = (value) => RANKS.left + axis.share(Math.min(value, top)) * (RANKS.right - RANKS.left);
  const bottom = RANKS.top + RANKS.row * ranked.length;
  const chart = drawing(
    "ranks",
    RANKS.width,
    bottom + RANKS.axis,
    "Bar chart: what each contender costs as a multiple of the first, by rank.",
  );
  const grid = axis.ticks.map((tick) => `M${round(x(tick))} ${RANKS.top}V${bottom}`).join("");
  chart.append(drawn("path", { class: "grid", d: grid }));
  for (const tick of axis.ticks) chart.append(label("tick", x(tick), bottom + 14, `${tickLabel(tick)}×`));
  const names = labelsOf(ranked);
  ranked.forEach((one, index) => {
    const y = RANKS.top + RANKS.row * (index + 0.5);
    chart.append(
      rankBar(one, ratio(one), one.interval ? ends[index] : null, {
        x,
        y,
        top,
        name: names[index],
        margin,
        first: index === 0,
      }),
    );
  });
  for (const [from, to] of runsOfTied(ranked)) {
    chart.append(bracket(RANKS.top + RANKS.row * from + 2, RANKS.top + RANKS.row * to - 2));
  }
  return chart;
}

// From where to where those lie who may be the best; whoever is noisy may lie below one that is worse. One alone has no bracket.
function runsOfTied(ranked) {
  const tied = ranked.flatMap(({ verdict }, index) => (verdict.worse === undefined ? [index] : []));
  if (tied.length < 2) return [];
  const begins = tied.filter((index) => !tied.includes(index - 1));
  const ends = tied.filter((index) => !tied.includes(index + 1));
  return begins.map((from, run) => [from, ends[run] + 1]);
}

const labelsOf = (ranked) => ranked.map(({ contender }) => contenders[contender].short);

function rankBar(one, ratio, ends, { x, y, top, name, margin, first }) {
  const group = drawn("g", {}, label("name", RANKS.left - 14, y + 4, name));
  const isShort = one.verdict.worse === undefined;
  const end = x(ratio);
  group.append(
    drawn("rect", {
      class: isShort ? "bar best" : "bar",
      x: RANKS.left,
      y: round(y - RANKS.bar / 2),
      width: round(end - RANKS.left),
      height: RANKS.bar,
    }),
  );
  if (ratio > top) group.append(tear(end, y, RANKS.bar));
  else if (ends && !first && ends[0] < top) group.append(whisker(x(Math.max(ends[0], 0)), x(ends[1]), y));
  group.append(label("value", RANKS.width - 2, y + 4, `${threeDigits(ratio)}×`));
  return titled(group, `${contenders[one.contender].name}: ${threeDigits(ratio)}×, ${placeWords(one.verdict, margin)}`);
}

const bracket = (from, to) => {
  const x = RANKS.left - 4;
  return drawn("path", { class: "bracket", d: `M${x} ${round(from)}h-5V${round(to)}h5` });
};
