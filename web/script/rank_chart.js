// Contenders by rank: a bar to the most that each costs as a multiple of the best's cost, with a mark at the estimate. Bars that
// would flatten all others end in a tear.

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
  const ratio = ({ difference }) => Math.exp(difference);
  const end = (one) => Math.max(ratio(one), one.bound === null ? 1 : Math.exp(one.bound.most));
  const most = clippedAt([...ranked.map(ratio), ...ranked.map(end).filter((_, i) => ratio(ranked[i]) < 3)]);
  const axis = linearAxis([Math.min(most, Math.max(...ranked.map(end)))]);
  const top = axis.ticks.at(-1);
  const x = (value) => RANKS.left + axis.share(Math.min(value, top)) * (RANKS.right - RANKS.left);
  const bottom = RANKS.top + RANKS.row * ranked.length;
  const chart = drawing(
    "ranks",
    RANKS.width,
    bottom + RANKS.axis,
    "Bar chart: the most that each filesystem costs as a multiple of the best's cost, by rank.",
  );
  const grid = axis.ticks.map((tick) => `M${round(x(tick))} ${RANKS.top}V${bottom}`).join("");
  chart.append(drawn("path", { class: "grid", d: grid }));
  for (const tick of axis.ticks) chart.append(label("tick", x(tick), bottom + 14, `${tickLabel(tick)}×`));
  ranked.forEach((one, index) => {
    const y = RANKS.top + RANKS.row * (index + 0.5);
    chart.append(rankBar(one, ratio(one), end(one), { x, y, top, margin, first: index === 0 }));
  });
  return chart;
}

function rankBar(one, ratio, end, { x, y, top, margin, first }) {
  const { name, short } = contenders[one.contender];
  const group = drawn("g", {}, label("name", RANKS.left - 14, y + 4, short));
  group.append(
    drawn("rect", {
      class: first ? "bar best" : "bar",
      x: RANKS.left,
      y: round(y - RANKS.bar / 2),
      width: round(x(end) - RANKS.left),
      height: RANKS.bar,
    }),
  );
  if (end > top) group.append(tear(x(end), y, RANKS.bar));
  if (ratio < Math.min(end, top)) {
    const at = round(x(ratio));
    group.append(drawn("path", { class: "estimate", d: `M${at} ${round(y - RANKS.bar / 2)}v${RANKS.bar}` }));
  }
  const most = one.bound === null ? "unknown" : `at most ${excessWords(one.bound)}`;
  group.append(label("value", RANKS.width - 2, y + 4, one.bound === null ? most : excessWords(one.bound)));
  return titled(
    group,
    `${name}: ${most}, estimate ${threeDigits(ratio)}×, ${rankWords(one.verdict, first ? 0 : 1, margin)}`,
  );
}
