// Heat maps: cells are shaded, and each has its number or word, so that nothing is said by colour alone.

const HEAT = { column: 54, row: 20, right: 70, letters: 9 };

// `columns`: heads; `rows`: {name, cells}, of which each is {text, shade, tone, title} or null.
function heatChart({ description, unit, columns, rows }) {
  const longest = (names, most) => Math.min(most, Math.max(...names.map((name) => name.length)));
  const top = 22 + 4.5 * longest(columns, 18);
  const left = 24 + 5.6 * longest([unit, ...rows.map(({ name }) => name)], 32);
  const width = left + HEAT.column * columns.length + HEAT.right;
  const chart = drawing("heat", round(width), round(top + HEAT.row * rows.length + 4), description);
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
  return chart;
}

function heatCell({ text, shade, tone, title }, x, y) {
  const [width, height] = [HEAT.column - 1, HEAT.row - 1];
  const box = drawn("rect", { class: shade ?? "none", x: round(x), y: round(y), width, height });
  const words = label(tone ? `cell word ${tone}` : "cell", x + HEAT.column / 2, y + 14, shortened(text, HEAT.letters));
  return titled(drawn("g", {}, box, words), title ?? text);
}
