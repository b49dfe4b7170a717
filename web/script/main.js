// Puts everything in its place once the page is there. Without it the page is complete, too: its tables
// are in it; what is added here is what moves.

function begin() {
  document.documentElement.classList.add("js");
  filterBar(document.getElementById("filter"));
  const uses = document.getElementById("uses");
  if (uses) usesSection(uses);
  heatMap(document.getElementById("heat"));
  for (const article of document.querySelectorAll("article[data-phase]")) phaseCard(article);
  for (const section of document.querySelectorAll("section[data-test]")) stepsFigure(section);
  for (const article of document.querySelectorAll("article[data-sweep]")) sweepCard(article);
  onFilter(redraw);
  addEventListener("beforeprint", drawEverything);
  closeByBackdrop(document.getElementById("detail"));
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
