// Tables with a column for each contender: as many are shown as there is room for, and buttons lead to the others, so that nothing
// has to be pushed sideways. The buttons lie where a thumb is.

const PAGED_COLUMN = NARROW ? 62 : 74;

// How wide there is room for each, asked of all at once before they are changed: every question lays the page out again.
const pagedTables = () =>
  [...document.querySelectorAll("table.overview")].filter((grid) => grid.tHead?.rows[0].querySelector("[data-c]"));
const roomOf = new Map();

function measureTables() {
  for (const grid of pagedTables()) roomOf.set(grid, grid.closest(".scroll").clientWidth);
}

function columnPager(grid) {
  const scroll = grid.closest(".scroll");
  const words = element("span");
  const turn = (by) => () => {
    page += by;
    draw();
  };
  const back = button("‹", { "aria-label": "Contenders before" }, turn(-1));
  const on = button("›", { "aria-label": "More contenders" }, turn(1));
  const bar = element("div", { class: "pager" }, back, words, on);
  scroll.after(bar);
  let [page, now, wide] = [0, contenders.map((_, c) => c), roomOf.get(grid)];
  const draw = () => {
    const heads = [...grid.tHead.rows[0].querySelectorAll("[data-c]")];
    const order = heads.map((cell) => Number(cell.dataset.c)).filter(isShown);
    const room = Math.max(1, Math.floor((wide - FIRST_COLUMN) / PAGED_COLUMN));
    const isPaged = wide > 0 && order.length > room;
    page = Math.max(0, Math.min(page, isPaged ? Math.ceil(order.length / room) - 1 : 0));
    // The last page is full, too.
    const begin = isPaged ? Math.min(page * room, order.length - room) : 0;
    const seen = new Set(isPaged ? order.slice(begin, begin + room) : order);
    bar.hidden = !isPaged;
    back.disabled = begin === 0;
    on.disabled = begin + room >= order.length;
    words.textContent = `contenders ${begin + 1}–${begin + seen.size} of ${order.length}`;
    const all = [...seen];
    const changed = [...without(now, all), ...without(all, now)];
    if (changed.length === 0) return;
    now = all;
    const lead = grid.tHead.rows[0].cells.length - heads.length;
    for (const cell of grid.querySelectorAll("[colspan]")) cell.colSpan = lead + seen.size;
    for (const c of changed)
      for (const cell of grid.querySelectorAll(`[data-c="${c}"]`)) cell.classList.toggle("paged", !seen.has(c));
  };
  // To ask how wide it is while everything changes would lay the page out each time.
  new ResizeObserver(() => {
    if (wide === scroll.clientWidth) return;
    wide = scroll.clientWidth;
    draw();
  }).observe(scroll);
  return { draw };
}

const FIRST_COLUMN = NARROW ? 132 : 230;

// Every other table of that kind.
function pageColumns() {
  for (const grid of pagedTables()) {
    if (grid.id === "heat") continue;
    const pager = columnPager(grid);
    onChange(["hidden", "order"], pager.draw);
    pager.draw();
  }
}

// Gives a cell other classes; that it is on another page stays.
function reclass(cell, classes) {
  cell.className = cell.classList.contains("paged") ? `${classes} paged` : classes;
}
