// The detail of one cell of the overview: everything that was found of one contender in one phase.

function followDetail(dialog) {
  const show = () => {
    if (state.open === null) dialog.close();
    else openDetail(dialog, ...state.open);
  };
  dialog.addEventListener("close", () => change({ open: null }));
  onChange(["open"], show);
  if (state.open !== null) show();
}

function openDetail(dialog, phaseNumber, contender) {
  const phase = data.phases[phaseNumber];
  const test = data.tests[phase.test];
  const row = phase.rows[0];
  const close = button("Close", { class: "close" }, () => dialog.close());
  const title = element("h2", { id: "detail-title" }, nameOf(contender), ` in ${test.name}: ${phase.name}`);
  const lead = element("p", {}, sentence(row, contender, resultOf(row, contender)));
  const notes = element("p", { class: "note" }, row.n.join(" · "));
  const told = element("p", {}, besideBest(resultOf(row, contender)));
  const panel = element("div", { class: "panel" }, barChart(row, phase, shownContenders(), contender));
  dialog.replaceChildren(
    close,
    title,
    lead,
    notes,
    told,
    panel,
    ...diskSection(phase, contender),
    metricTable(phase, contender),
    links(phase, contender),
  );
  if (!dialog.open) dialog.showModal();
  dialog.scrollTop = 0;
}

// What a contender is beside the best of the row.
const besideBest = (result) => (result.place ? `Beside the best: ${result.place}.` : "");

// Every metric of the phase for one contender, beside the best of all where there is one.
function metricTable(phase, contender) {
  const heads = [["Metric", ""], ...RESULT_HEADS];
  const lines = phase.rows.map((row) => {
    const metric = metricOf(row);
    const unit = row.u ? `, ${row.u}` : "";
    return element(
      "tr",
      {},
      element("th", { scope: "row", title: metric.definition }, metric.title + unit),
      ...resultCells(row, resultOf(row, contender)),
    );
  });
  return table(`All metrics of ${phase.name}`, heads, lines);
}

function links(phase, contender) {
  const to = (href, text) => element("a", { href }, text);
  const failed = document.querySelector(`.failure[data-c="${contender}"]`);
  return element(
    "p",
    {},
    to(`#${phase.id}`, "to the charts of this phase"),
    ...(failed ? [" · ", to("#failures", "to what was not ok")] : []),
  );
}
