// Puts everything in its place once the page is there. Without it the page is complete, too: its tables
// are in it; what is added here is what moves. Everything goes one way: the state, what follows from it, what is drawn.

function begin() {
  document.documentElement.classList.add("js");
  state = readAddress();
  const bar = document.getElementById("filter");
  filterBar(bar);
  measureTables();
  minded(bar);
  const uses = document.getElementById("uses");
  if (uses) usesSection(uses);
  heatMap(document.getElementById("heat"));
  const groups = document.getElementById("overall");
  if (groups) groupsSection(groups);
  countsTable(document.getElementById("contenders"));
  pageColumns();
  for (const article of document.querySelectorAll("article[data-phase]")) phaseCard(article);
  for (const section of document.querySelectorAll("section[data-test]")) stepsFigures(section);
  for (const article of document.querySelectorAll("article[data-sweep]")) sweepCard(article);
  chartIndex(document.getElementById("chart-index"));
  printing(document.getElementById("printing"));
  followDetail(document.getElementById("detail"));
  onChange(SELECTION, redraw);
  closeByBackdrop(document.getElementById("detail"));
  followLinks();
  if (state.at !== null) goTo(state.at);
}

// On paper there are the answer, the bars, the results and the method; everything else only for who asks for it.
function printing(host) {
  const box = checkbox("print everything, with all charts", (on) =>
    document.documentElement.classList.toggle("whole", on),
  );
  box.input.checked = false;
  host.append(box.label);
  host.hidden = false;
  addEventListener("beforeprint", () => {
    if (box.input.checked) drawEverything();
  });
}

function sweepCard(article) {
  const sweep = data.sweeps[Number(article.dataset.sweep)];
  const phase = sweep.phases[Number(article.dataset.swept)];
  if (phase.points.length === 0) return;
  const lines = article.querySelector("figure");
  sweepFigure(sweep, phase, lines);
  if (varying(sweep).length < 2) return;
  const heat = element("figure");
  lines.after(heat);
  surfaceFigure(sweep, phase, heat);
}

// A click beside the dialog closes it, as Escape does.
function closeByBackdrop(dialog) {
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close();
  });
}

begin();
