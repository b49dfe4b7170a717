// In how many of the phases shown each contender is the best, or may be: in the table of what was compared.

function countsTable(section) {
  if (data.byDisk) return;
  const rows = [...section.querySelectorAll(".contenders tbody tr")];
  const analysed = rows.map((tr) => [tr.cells[1].textContent, tr.cells[2].textContent]);
  const draw = () => {
    const found = chosen();
    const marks = found.isEverything ? null : marksShown();
    for (const tr of rows) {
      const c = Number(tr.dataset.c);
      const own = marks?.map((row) => row.get(c)).filter(Boolean);
      const counts = own
        ? [own.filter((sign) => sign === "▲").length, own.filter((sign) => "▲=?".includes(sign)).length]
        : analysed[c];
      tr.cells[1].textContent = String(counts[0]);
      tr.cells[1].classList.toggle("best", Number(counts[0]) > 0);
      tr.cells[2].textContent = String(counts[1]);
    }
  };
  onChange(SELECTION, draw);
  draw();
}

// Of each phase shown who has which mark.
function marksShown() {
  const rows = data.phases.filter((_, phase) => isPhaseShown(phase)).map(({ rows: [row] }) => row);
  return rows.map((row) => new Map(shownContenders().map((c) => [c, markOf(row, c)?.sign ?? ""])));
}
