// The overview as a heat map that sorts, filters and opens into the detail. The table with its colours
// is in the page already; here it only gets its buttons and keys.

function heatMap(grid) {
  const map = {
    grid,
    head: gridCells(grid.tHead.rows[0]),
    rows: [...grid.tBodies].flatMap((body) => [...body.rows].map((tr) => heatRow(tr, body))),
    order: contenders.map((_, c) => c),
    sortedBy: null,
    flat: grid.createTBody(),
  };
  grid.setAttribute("role", "grid");
  for (const row of map.rows) if (row.cells.length > 0) rowButton(map, row);
  map.head.forEach((cell, c) => columnButton(map, cell, c));
  grid.addEventListener("click", (event) => openCell(event.target.closest("td[data-c]")));
  grid.addEventListener("keydown", (event) => gridKey(map, event));
  heatControls(map, document.getElementById("heat-controls"));
  gridStop(map);
  onFilter(() => {
    map.apply();
    gridStop(map);
  });
}

const HEAT_HELP =
  "A cell opens into its detail; ⇄ orders the contenders, a name the phases; arrow keys move.";

const gridCells = (tr) => [...tr.querySelectorAll(":scope > [data-c]")];

function heatRow(tr, body) {
  const cells = gridCells(tr).map((td) => ({
    td,
    ratio: td.dataset.r ? Number(td.dataset.r) : null,
    marked: td.matches(".best, .worst"),
    // "!" stands behind a result of which some round failed.
    failed: td.matches(".failed") || td.textContent.includes("!"),
    nodes: [...td.childNodes],
  }));
  const head = tr.querySelector("th");
  const words = head ? `${head.dataset.test ?? ""} ${head.textContent}`.toLowerCase() : "";
  return { tr, body, cells, head, words };
}

// A row's button orders the contenders by that row.
function rowButton(map, row) {
  for (const cell of row.cells) cell.td.tabIndex = -1;
  if (row.cells.filter((cell) => cell.ratio !== null).length < 2) return;
  const name = row.head.textContent.trim();
  const sort = button(
    "⇄",
    {
      class: "sort",
      tabindex: -1,
      "aria-label": `Order contenders by ${name}`,
      title: `Order contenders by ${name}`,
    },
    () => {
      if (map.sortedBy === sort)
        return setOrder(
          map,
          contenders.map((_, c) => c),
          null,
          "Contenders in the campaign's order",
        );
      const rank = (c) => row.cells[c].ratio ?? Infinity;
      const order = contenders
        .map((_, c) => c)
        .sort((a, b) => (rank(a) === rank(b) ? a - b : rank(a) - rank(b)));
      setOrder(map, order, sort, `Contenders ordered by ${name}, best first`);
    },
  );
  row.head.append(sort);
}

function setOrder(map, order, sort, words) {
  map.order = order;
  map.head[0].parentNode.append(...order.map((c) => map.head[c]));
  for (const { tr, cells } of map.rows) if (cells.length > 0) tr.append(...order.map((c) => cells[c].td));
  map.sortedBy?.removeAttribute("aria-pressed");
  sort?.setAttribute("aria-pressed", "true");
  map.sortedBy = sort;
  gridStop(map);
  announce(words);
}

// A column's button orders the phases by how far that contender is from the best; again, back.
function columnButton(map, cell, c) {
  const sort = button(
    "",
    { class: "sort name", tabindex: -1, title: "Order phases by this contender" },
    () => {
      const sorted = cell.getAttribute("aria-sort") === "descending";
      for (const head of map.head) head.removeAttribute("aria-sort");
      if (sorted) unsortRows(map);
      else {
        cell.setAttribute("aria-sort", "descending");
        sortRows(map, c);
      }
    },
  );
  sort.append(...cell.childNodes);
  cell.append(sort);
}

function sortRows(map, c) {
  const rated = map.rows.filter((row) => row.cells.length > 0 && !row.tr.classList.contains("derived"));
  const rank = (row) => row.cells[c].ratio ?? -1;
  const order = [...rated].sort((a, b) => rank(b) - rank(a));
  map.flat.append(...order.map((row) => row.tr));
  map.grid.classList.add("flat");
  map.apply();
  announce(`Phases ordered by ${contenders[c].label}, farthest from the best first`);
}

function unsortRows(map) {
  for (const row of map.rows) row.body.append(row.tr);
  map.grid.classList.remove("flat");
  map.apply();
  announce("Phases in the order of the tests");
}

function openCell(td) {
  if (!td) return;
  const tr = td.parentNode;
  if (tr.dataset.phase) openDetail(Number(tr.dataset.phase), Number(td.dataset.c));
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

const stopsOf = (tr) =>
  [...tr.querySelectorAll("button.sort, td[data-c]")].filter((node) => !node.closest("[hidden]"));

function besideRow(map, at, place, step) {
  const rows = [...map.grid.rows].filter(
    (tr) => !tr.hidden && tr.offsetParent !== null && stopsOf(tr).length > 0,
  );
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

function heatControls(map, host) {
  const find = element("input", { type: "search", placeholder: "all phases" });
  const keep = { words: "", kind: "all" };
  map.apply = () => {
    let count = 0;
    for (const row of map.rows) {
      if (row.cells.length === 0) continue;
      row.tr.hidden = !row.words.includes(keep.words) || !kindOf(row, keep.kind);
      count += row.tr.hidden ? 0 : 1;
    }
    // The head of a test goes with its rows, and so do the lines between them.
    for (const body of map.grid.tBodies) {
      const some = [...body.rows].some((tr) => tr.querySelector("td[data-c]") && !tr.hidden);
      body.classList.toggle("empty", !some && body !== map.flat);
    }
    return count;
  };
  const choose = () => announce(`${map.apply()} phases shown`);
  find.addEventListener("input", () => {
    keep.words = find.value.trim().toLowerCase();
    choose();
  });
  const rows = [
    ["all", "all"],
    ["marked", "with a best or a worst"],
    ["failed", "with a failure"],
  ];
  const views = [["result", "results"], ["ratio", "ratio to the best"], ...otherViews()];
  host.append(
    choice("show", views, "result", (view) => showView(map, view)),
    choice("phases", rows, "all", (kind) => {
      keep.kind = kind;
      choose();
    }),
    element("label", { class: "choice" }, "find ", find),
    element("span", { class: "absent" }, HEAT_HELP),
  );
  host.hidden = false;
}

const kindOf = (row, kind) => kind === "all" || row.cells.some((cell) => !cell.td.hidden && cell[kind]);

// Results, ratios, or another metric of each phase; colours stay those of the results.
function showView(map, view) {
  for (const { tr, cells } of map.rows) {
    const phase = tr.dataset.phase && data.phases[Number(tr.dataset.phase)];
    const row = phase && rowOfMetric(phase, view);
    cells.forEach((cell, c) => cell.td.replaceChildren(...cellContent(cell, c, view, row)));
  }
  const metric = data.metrics.find(({ name }) => name === view);
  announce(metric ? metric.definition : view === "ratio" ? "Ratios to the best of each row" : "Results");
}

function cellContent(cell, contender, view, row) {
  if (view === "result") return cell.nodes;
  if (view === "ratio") return cell.ratio === null ? cell.nodes : [`${threeDigits(cell.ratio)}×`];
  if (!row) return ["–"];
  const result = resultOf(row, contender);
  return [result.words ? wordOf(result) : textOf(row, result) + unitBehind(row)];
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
