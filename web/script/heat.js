// The results as a heat map: contenders by rank, cells that open into the detail, colours and marks of what is shown. The table
// is in the page already; here it gets its buttons and keys, and follows the state.

function heatMap(grid) {
  const map = {
    grid,
    head: gridCells(grid.tHead.rows[0]),
    rows: [...grid.tBodies].flatMap((body) => [...body.rows].map((tr) => heatRow(tr, body))),
    flat: grid.createTBody(),
    order: contenders.map((_, c) => c),
  };
  grid.setAttribute("role", "grid");
  for (const row of map.rows) if (row.cells.length > 0) rowButton(row);
  map.head.forEach((cell, c) => columnButton(cell, c));
  grid.addEventListener("click", (event) => openCell(event.target.closest("td[data-c]")));
  grid.addEventListener("keydown", (event) => gridKey(map, event));
  heatControls(document.getElementById("heat-controls"));
  const pager = columnPager(grid);
  const follow = (draw) => () => {
    draw(map);
    pager.draw();
    gridStop(map);
  };
  onChange(SELECTION, () => colourCells(map));
  onChange([...SELECTION, "view"], () => fillCells(map));
  onChange([...SELECTION, "kind", "find"], () => showRows(map));
  onChange([...SELECTION, "use", "weights", "order"], follow(orderColumns));
  onChange([...SELECTION, "column"], () => orderRows(map));
  orderColumns(map);
  if (!chosen().isEverything) colourCells(map);
  fillCells(map);
  orderRows(map);
  showRows(map);
  pager.draw();
  gridStop(map);
}

const HEAT_HELP = "A value opens into its detail; ⇄ sorts filesystems, a name sorts phases; arrow keys move.";

const gridCells = (tr) => [...tr.querySelectorAll(":scope > [data-c]")];

function heatRow(tr, body) {
  const phase = tr.dataset.phase ? Number(tr.dataset.phase) : null;
  // The row of the data that it shows: that of the primary metric, or one beside it.
  const row = phase === null ? null : data.phases[phase].rows[Number(tr.dataset.row ?? 0)];
  const cells = gridCells(tr).map((td, c) => {
    const stored = row && storedOf(row, c);
    return {
      td,
      ratio: td.dataset.r ? Number(td.dataset.r) : null,
      text: td.firstChild?.textContent ?? "",
      signs: td.querySelector(".signs")?.textContent ?? "",
      isWord: td.matches(".failed, .absent"),
      // "!" stands behind a result of which some round failed.
      failed: td.matches(".failed") || td.textContent.includes("!"),
      unsteady: Array.isArray(stored) && stored[3] > UNSTEADY_ABOVE,
    };
  });
  for (const { td, unsteady } of cells) td.classList.toggle("unsteady", unsteady);
  const head = tr.querySelector("th");
  const words = head ? `${head.dataset.test ?? ""} ${head.textContent}`.toLowerCase() : "";
  return { tr, body, cells, head, words, phase, row };
}

// A row's button orders the contenders by that row; again, by rank.
function rowButton(row) {
  for (const cell of row.cells) cell.td.tabIndex = -1;
  if (row.phase === null || row.tr.dataset.row || row.cells.filter((cell) => cell.ratio !== null).length < 2) return;
  const words = `Order filesystems by ${row.head.querySelector("a").textContent.trim()}`;
  const order = `p${row.phase}`;
  const sort = button("⇄", { class: "sort", tabindex: -1, "aria-label": words, title: words }, () => {
    change({ order: state.order === order ? "rank" : order });
    announce(
      state.order === order
        ? `${words.replace("Order f", "F").replace(" by ", " ordered by ")}, best first`
        : "Filesystems by rank",
    );
  });
  row.head.append(sort);
  row.sort = sort;
}

// Contenders in the order that the state asks for; who is hidden comes last.
function columnOrder() {
  const all = contenders.map((_, c) => c);
  if (state.order === "planned") return all;
  const ranked = ranking();
  if (state.order !== "rank") {
    const ratios = ratiosOf(data.phases[Number(state.order.slice(1))]?.rows[0] ?? {});
    const rank = (c) => ratios[c] ?? Infinity;
    ranked.sort((a, b) => (rank(a) === rank(b) ? a - b : rank(a) - rank(b)));
  }
  return [...ranked, ...without(all, ranked)];
}

function orderColumns(map) {
  const order = columnOrder();
  for (const { sort, phase } of map.rows) {
    if (!sort) continue;
    if (state.order === `p${phase}`) sort.setAttribute("aria-pressed", "true");
    else sort.removeAttribute("aria-pressed");
  }
  // Where those that nobody sees stand does not matter.
  if (isSame(order.filter(isShown), map.order.filter(isShown))) return;
  map.order = order;
  map.head[0]?.parentNode.append(...order.map((c) => map.head[c]));
  for (const { tr, cells } of map.rows) if (cells.length > 0) tr.append(...order.map((c) => cells[c].td));
  // Every other table of contenders follows.
  for (const grid of pagedTables()) if (grid !== map.grid) for (const tr of grid.rows) orderCells(tr, order);
}

function orderCells(tr, order) {
  const cells = new Map([...tr.cells].filter((cell) => cell.dataset.c).map((cell) => [Number(cell.dataset.c), cell]));
  tr.append(...order.filter((c) => cells.has(c)).map((c) => cells.get(c)));
}

// A column's button orders the phases by how far that contender is from the best; again, back.
function columnButton(cell, c) {
  const title = "Order phases by this contender";
  const sort = button("", { class: "sort name", tabindex: -1, title }, () => {
    change({ column: state.column === c ? null : c });
    announce(
      state.column === c
        ? `Phases ordered by ${contenders[c].label}, farthest from the best first`
        : "Phases in the order of the tests",
    );
  });
  sort.append(...cell.childNodes);
  cell.append(sort);
}

function orderRows(map) {
  const { column } = state;
  map.head.forEach((cell, c) => {
    if (c === column) cell.setAttribute("aria-sort", "descending");
    else cell.removeAttribute("aria-sort");
  });
  if (column === null && !map.grid.classList.contains("flat")) return;
  map.grid.classList.toggle("flat", column !== null);
  if (column === null) for (const row of map.rows) row.body.append(row.tr);
  else {
    const rated = map.rows.filter((row) => row.cells.length > 0 && !row.tr.classList.contains("derived"));
    const ratio = new Map(rated.map((row) => [row, rowRatios(row)[column] ?? -1]));
    map.flat.append(...rated.sort((a, b) => ratio.get(b) - ratio.get(a)).map((row) => row.tr));
  }
  showRows(map);
}

// How many times better the best of those shown is.
function rowRatios(row) {
  if (row.row?.r) return ratiosOf(row.row);
  const best = Math.min(...shownContenders().map((c) => row.cells[c].ratio ?? Infinity));
  return row.cells.map(({ ratio }) => (ratio === null ? null : ratio / best));
}

// Colours and marks of what is shown.
function colourCells(map) {
  for (const row of map.rows) {
    if (row.cells.length === 0) continue;
    const ratios = rowRatios(row);
    row.cells.forEach(({ td, ratio, signs, isWord, unsteady }, c) => {
      if (isWord || !isShown(c)) return;
      const mark = row.row ? markOf(row.row, c) : undefined;
      const shown = mark === undefined ? signs : withMark(signs, mark);
      const tone = shown.includes("▲") ? " best" : shown.includes("▼") ? " worst" : "";
      const shade = ratio === null || ratios[c] === null ? "" : ` h${ratioStep(ratios[c])}`;
      reclass(td, `n${tone}${shade}${unsteady ? " unsteady" : ""}`);
      const node = td.querySelector(".signs");
      if (node && node.textContent !== shown) node.textContent = shown;
    });
  }
}

function openCell(td) {
  if (!td) return;
  const tr = td.parentNode;
  if (tr.dataset.phase) change({ open: [Number(tr.dataset.phase), Number(td.dataset.c)] });
  else tr.querySelector("th a")?.click();
}

// Arrows move about; Enter and Space open a cell.
function gridKey(map, event) {
  const at = event.target.closest("td[data-c], button.sort");
  if (!at) return;
  if (event.key === "Enter" || event.key === " ") {
    if (at.tagName !== "TD") return;
    event.preventDefault();
    return openCell(at);
  }
  const stops = stopsOf(at.closest("tr"));
  const place = stops.indexOf(at);
  const to = {
    ArrowRight: () => stops[place + 1],
    ArrowLeft: () => stops[place - 1],
    ArrowDown: () => besideRow(map, at, place, 1),
    ArrowUp: () => besideRow(map, at, place, -1),
    Home: () => stops[0],
    End: () => stops.at(-1),
  }[event.key]?.();
  if (!to) return;
  event.preventDefault();
  moveStop(map, to);
  to.focus();
}

const stopsOf = (tr) => [...tr.querySelectorAll("button.sort, td[data-c]")].filter((node) => !node.closest("[hidden]"));

function besideRow(map, at, place, step) {
  const rows = [...map.grid.rows].filter((tr) => !tr.hidden && tr.offsetParent !== null && stopsOf(tr).length > 0);
  const next = rows[rows.indexOf(at.closest("tr")) + step];
  // A row without a button begins one later.
  if (!next) return undefined;
  const stops = stopsOf(next);
  const fromEnd = stopsOf(at.closest("tr")).length - place;
  return stops[Math.max(0, stops.length - fromEnd)];
}

// The whole table is one stop of the Tab key.
function gridStop(map) {
  const first = [...map.grid.tHead.rows].flatMap(stopsOf)[0];
  if (first) moveStop(map, first);
}

function moveStop(map, node) {
  if (map.stop) map.stop.tabIndex = -1;
  map.stop = node;
  node.tabIndex = 0;
}

// The rows that are looked for; the head of a test goes with its rows, and so do the lines between them.
function showRows(map) {
  const find = state.find.trim().toLowerCase();
  let count = 0;
  for (const row of map.rows) {
    if (row.cells.length === 0) continue;
    const isOn = row.phase === null ? isOfShownTest(row) : isPhaseShown(row.phase);
    row.tr.hidden = !isOn || !row.words.includes(find) || !isOfKind(row);
    count += row.tr.hidden ? 0 : 1;
  }
  for (const body of map.grid.tBodies) {
    const some = [...body.rows].some((tr) => !tr.hidden && tr.querySelector("td[data-c]"));
    body.classList.toggle("empty", !some && body !== map.flat);
  }
  return count;
}

// Rows of sweeps go with their sweep.
const isOfShownTest = (row) => {
  const sweep = data.sweeps.find(({ name }) => row.head.dataset.test === name);
  return !sweep || !chosen().off.has(sweep.tests[0]);
};

function isOfKind({ cells }) {
  const kind = HEAT_KINDS.find(([name]) => name === state.kind) ?? HEAT_KINDS[0];
  return kind[2](cells.filter((_, c) => isShown(c)));
}

const HEAT_KINDS = [
  ["all", "all", () => true],
  ["marked", "with a best or a worst", (cells) => cells.some(({ td }) => td.matches(".best, .worst"))],
  ["failed", "with a failure", (cells) => cells.some(({ failed }) => failed)],
];

function heatControls(host) {
  const find = element("input", { type: "search", placeholder: "all phases" });
  find.value = state.find;
  find.addEventListener("input", () => change({ find: find.value }));
  const orders = [
    ["rank", "by rank"],
    ["planned", "as planned"],
  ];
  const views = [["result", "results"], ["ratio", "ratio to the best"], ...otherViews()];
  host.append(
    choiceOf("view", "show", views),
    choiceOf("order", "filesystems", orders),
    choiceOf("kind", "phases", HEAT_KINDS),
    element("label", { class: "choice" }, "find ", find),
    element("span", { class: "absent help" }, HEAT_HELP),
  );
  onChange(["find"], () => {
    if (find.value !== state.find) find.value = state.find;
  });
  onChange(["view"], () => {
    const metric = data.metrics.find(({ name }) => name === state.view);
    announce(metric ? metric.definition : state.view === "ratio" ? "Ratios to the best of each row" : "Results");
  });
  host.hidden = false;
}

// A choice that is a part of the state, and follows it. What is none of these, such as contenders ordered by a phase, shows as
// none.
function choiceOf(part, text, options) {
  const label = choice(text, options, state[part], (value) => change({ [part]: value }));
  const select = label.querySelector("select");
  const follow = () => {
    select.value = state[part];
  };
  onChange([part], follow);
  follow();
  return label;
}

// Results, ratios, or another metric of each phase; colours stay those of the results.
function fillCells(map) {
  if (state.view === "result" && !map.isFilled) return;
  map.isFilled = true;
  for (const row of map.rows) {
    if (row.cells.length === 0) continue;
    const other = row.phase === null ? undefined : rowOfMetric(data.phases[row.phase], state.view);
    const ratios = state.view === "ratio" ? rowRatios(row) : [];
    row.cells.forEach((cell, c) => {
      const isOwn = state.view === "result" || (state.view === "ratio" && (ratios[c] ?? null) === null);
      const text = isOwn ? cell.text : state.view === "ratio" ? `${threeDigits(ratios[c])}×` : otherText(other, c);
      if (cell.td.firstChild) cell.td.firstChild.textContent = text;
      cell.td.classList.toggle("other", !isOwn);
    });
  }
}

function otherText(row, contender) {
  if (!row) return "–";
  const result = resultOf(row, contender);
  return result.words ? wordOf(result) : textOf(row, result) + unitBehind(row);
}

// Metrics that say why a result is as it is, where the campaign has them.
const OTHER_METRICS = [
  "elapsed",
  "cpu-machine",
  "cpu",
  "cpu-driver",
  "latency-p50",
  "latency-p99",
  "latency-max",
  "device-written",
];

function otherViews() {
  const known = OTHER_METRICS.map((name) => data.metrics.find((metric) => metric.name === name));
  return known.filter(Boolean).map(({ name, title }) => [name, title.toLowerCase()]);
}
