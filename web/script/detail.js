// The detail of one cell of the overview: everything that was found of one contender in one phase.

function openDetail(phaseNumber, contender) {
  const dialog = document.getElementById("detail");
  const phase = data.phases[phaseNumber];
  const test = data.tests[phase.test];
  const row = phase.rows[0];
  const close = button("Close", { class: "close" }, () => dialog.close());
  const title = element("h2", { id: "detail-title" }, nameOf(contender), ` in ${test.name}: ${phase.name}`);
  const lead = element("p", {}, sentence(row, contender, resultOf(row, contender)));
  const notes = element("p", { class: "note" }, row.n.join(" · "));
  const told = element("p", {}, ...significance(row, contender));
  const panel = element("div", { class: "panel" }, barChart(row, phase, shownContenders(), contender));
  dialog.replaceChildren(
    close,
    title,
    lead,
    notes,
    told,
    panel,
    metricTable(phase, contender),
    links(phase, contender, dialog),
  );
  dialog.showModal();
  dialog.scrollTop = 0;
}

// What the exact tests say of this contender against each other one. Pairs come in the order
// (0, 1), (0, 2), …, (1, 2), …, and are said from the first of the two.
function significance(row, contender) {
  const kinds = { better: [], worse: [], same: [], few: [] };
  const names = { ">": "better", "<": "worse", "=": "same", "?": "few" };
  const turned = { ">": "<", "<": ">" };
  let pair = 0;
  for (let a = 0; a < contenders.length; a += 1) {
    for (let b = a + 1; b < contenders.length; b += 1, pair += 1) {
      if (a !== contender && b !== contender) continue;
      const said = row.v[pair];
      const kind = names[a === contender ? said : (turned[said] ?? said)];
      if (kind) kinds[kind].push(contenders[a === contender ? b : a].label);
    }
  }
  const parts = [];
  const say = (words, list) => list.length > 0 && parts.push(`${words} ${list.join(", ")}`);
  say("better than", kinds.better);
  say("worse than", kinds.worse);
  say("not significantly different from", kinds.same);
  if (kinds.few.length > 0)
    parts.push(`too few rounds to compare with ${kinds.few.join(", ")} (at least ${row.needed} are needed)`);
  if (parts.length === 0) return [];
  return ["By exact tests, corrected for their number: ", element("span", {}, `${parts.join("; ")}.`)];
}

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

function links(phase, contender, dialog) {
  const to = (href, text) => {
    const link = element("a", { href }, text);
    link.addEventListener("click", () => dialog.close());
    return link;
  };
  const failed = document.querySelector(`.failure[data-c="${contender}"]`);
  return element(
    "p",
    {},
    to(`#${phase.id}`, "to the charts of this phase"),
    ...(failed ? [" · ", to("#failures", "to what was not ok")] : []),
  );
}
