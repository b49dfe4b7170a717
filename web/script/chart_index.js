// The index of all charts: of each metric of each phase, of each sweep. What is typed is looked for in all of them.

const MOST_FOUND = 40;

function chartIndex(host) {
  const all = [...data.phases.flatMap(chartsOfPhase), ...data.sweeps.flatMap(chartsOfSweep)];
  for (const chart of all) chart.key = chart.words.toLowerCase();
  const find = element("input", { type: "search", placeholder: `search ${all.length} charts` });
  const list = element("ul", { class: "found" });
  find.addEventListener("input", () => {
    const words = find.value.trim().toLowerCase().split(/\s+/);
    const found = find.value.trim() === "" ? [] : all.filter(({ key }) => words.every((word) => key.includes(word)));
    list.replaceChildren(...found.slice(0, MOST_FOUND).map(foundChart));
    if (found.length > MOST_FOUND)
      list.append(element("li", { class: "absent" }, `and ${found.length - MOST_FOUND} more`));
    announce(`${found.length} charts found`);
  });
  host.append(element("label", { class: "choice" }, "find ", find), list);
  host.hidden = false;
}

const sweepId = (sweep) => document.querySelector(`article[data-sweep="${sweep}"]`)?.closest("section").id;

const chartsOfSweep = ({ name, phases }, sweep) =>
  phases.map((phase) => ({ words: `${name}/${phase.name}: curves and surface`, id: sweepId(sweep) }));

function chartsOfPhase(phase) {
  const place = `${data.tests[phase.test].name}/${phase.name}`;
  const views = TABS.slice(1, 3).filter((tab) => tab.has(phase));
  return [
    ...phase.rows.map((row, index) => ({
      words: `${place}: ${metricOf(row).title}`,
      id: phase.id,
      tab: index === 0 ? "Rounds" : "All metrics",
    })),
    ...views.map(({ name }) => ({ words: `${place}: ${name}`, id: phase.id, tab: name })),
  ];
}

function foundChart({ words, id, tab }) {
  const link = element("a", { href: `#${id}` }, words);
  if (tab) link.addEventListener("click", () => showTab(id, tab));
  return element("li", {}, link);
}

function showTab(id, name) {
  const tabs = document.querySelectorAll(`#${id} [role="tab"]`);
  [...tabs].find((tab) => tab.textContent === name)?.click();
}
