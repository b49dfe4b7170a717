// Heat maps: cells are shaded, and each has its number or word, so that nothing is said by colour alone.

const HEAT = { column: 54, row: 20, right: 70, words: 110, border: 13, letters: 9 };

// `columns`: heads; `rows`: {name, cells}, of which each is {text, shade, tone, title} or null; `borders`: {place, words} of lines
// between rows and between columns.
function heatChart({ description, unit, columns, rows, borders = { rows: [], columns: [] } }) {
  const longest = (names, most) => Math.min(most, Math.max(...names.map((name) => name.length)));
  const top = 22 + 4.5 * longest(columns, 18);
  const left = 24 + 5.6 * longest([unit, ...rows.map(({ name }) => name)], 32);
  const [end, bottom] = [left + HEAT.column * columns.length, top + HEAT.row * rows.length];
  const below = borders.columns.length * HEAT.border;
  const beside = borders.rows.length > 0 ? HEAT.words : HEAT.right;
  const chart = drawing("heat", round(end + beside), round(bottom + 4 + below), description);
  chart.append(label("level", left - 8, top - 6, unit));
  columns.forEach((name, index) => {
    const head = label("head", left + HEAT.column * (index + 0.5), top - 6, shortened(name, 18));
    const [x, y] = [head.getAttribute("x"), head.getAttribute("y")];
    head.setAttribute("transform", `rotate(-40 ${x} ${y})`);
    chart.append(head);
  });
  rows.forEach(({ name, cells }, index) => {
    const y = top + HEAT.row * index;
    chart.append(label("name", left - 8, y + 14, shortened(name, 32)));
    cells.forEach((cell, column) => {
      if (cell) chart.append(heatCell(cell, left + HEAT.column * column, y));
    });
  });
  const middle = (start, size, place) => round(start + size * (place + 0.5));
  for (const { place, words } of borders.rows) {
    const y = middle(top, HEAT.row, place);
    chart.append(drawn("path", { class: "border", d: `M${round(left)} ${y}H${round(end + 6)}` }));
    chart.append(label("border beside", end + 10, y + 4, words));
  }
  borders.columns.forEach(({ place, words }, index) => {
    const [x, low] = [middle(left, HEAT.column, place), bottom + HEAT.border * (index + 1)];
    chart.append(drawn("path", { class: "border", d: `M${x} ${round(top)}V${round(low - 8)}` }));
    chart.append(label("border", x, low, words));
  });
  return chart;
}

function heatCell({ text, shade, tone, title }, x, y) {
  const [width, height] = [HEAT.column - 1, HEAT.row - 1];
  const box = drawn("rect", { class: shade ?? "none", x: round(x), y: round(y), width, height });
  const words = label(tone ? `cell word ${tone}` : "cell", x + HEAT.column / 2, y + 14, shortened(text, HEAT.letters));
  return titled(drawn("g", {}, box, words), title ?? text);
}
