// What stands in the card of a phase: the bars of its primary metric, latency, processor time, and
// every other metric on demand.

const TABS = [
  { name: "Rounds", has: () => true, draw: primaryView },
  {
    name: "Latency",
    has: hasLatency,
    draw: (phase, shown) => [latencyChart(phase, shown), behind(latencyTable(phase, shown))],
  },
  {
    name: "Processor",
    has: hasProcessor,
    draw: (phase, shown) => [processorChart(phase, shown), behind(processorTable(phase, shown))],
  },
  { name: "All metrics", has: (phase) => phase.rows.length > 1, draw: everyMetric },
];

function primaryView(phase, shown) {
  const beside = phase.rows.filter((row) => row.beside);
  return [barChart(phase.rows[0], phase, shown), ...beside.map((row) => metricFigure(row, phase, shown))];
}

// A table that opens below its chart.
const behind = (made) => element("details", { class: "data" }, element("summary", {}, "Numbers"), made);

function everyMetric(phase, shown) {
  const cards = phase.rows.slice(1).map((row) => metricFigure(row, phase, shown));
  return [element("div", { class: "others" }, ...cards)];
}

// A metric with its caption, its bars and its numbers.
function metricFigure(row, phase, shown) {
  const metric = metricOf(row);
  const notes = row.n.map((note) => element("span", {}, note));
  const caption = element("figcaption", {}, element("strong", { title: metric.definition }, metric.title), ...notes);
  return element("figure", {}, caption, barChart(row, phase, shown), behind(resultTable(row, phase, shown)));
}

function phaseCard(article) {
  const phase = data.phases[Number(article.dataset.phase)];
  const figure = article.querySelector("figure");
  const panel = element("div", { class: "panel", id: `${phase.id}-view` });
  const tabs = TABS.filter((tab) => tab.has(phase));
  let current = tabs[0];
  const title = `${data.tests[phase.test].name}: ${phase.name}`;
  const draw = () =>
    panel.replaceChildren(
      ...current.draw(phase, shownContenders()),
      pictureButtons(`${title}, ${current.name === TABS[0].name ? metricOf(phase.rows[0]).title : current.name}`, () =>
        panel.querySelector("svg.chart"),
      ),
    );
  if (tabs.length > 1) {
    figure.before(
      tabList(phase, tabs, panel, (tab) => {
        current = tab;
        article.classList.toggle("wide", tab.name !== "Rounds");
        if (pending.has(panel)) drawNow(panel);
        else draw();
      }),
    );
  }
  figure.append(panel);
  onDemand(panel, draw);
}

// Tabs as the ARIA practices have them: one of them in the tab order, arrows move between them.
function tabList(phase, tabs, panel, choose) {
  const list = element("div", { class: "tabs", role: "tablist", "aria-label": `Views of ${phase.name}` });
  const buttons = tabs.map((tab, index) =>
    button(
      tab.name,
      {
        role: "tab",
        id: `${phase.id}-tab-${index}`,
        "aria-controls": panel.id,
        "aria-selected": String(index === 0),
        tabindex: index === 0 ? 0 : -1,
      },
      () => select(index),
    ),
  );
  const select = (index) => {
    buttons.forEach((one, i) => {
      one.setAttribute("aria-selected", String(i === index));
      one.tabIndex = i === index ? 0 : -1;
    });
    panel.setAttribute("aria-labelledby", buttons[index].id);
    choose(tabs[index]);
  };
  list.addEventListener("keydown", (event) => {
    const move = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const at = buttons.indexOf(document.activeElement);
    const to =
      event.key === "Home"
        ? 0
        : event.key === "End"
          ? buttons.length - 1
          : move && (at + move + buttons.length) % buttons.length;
    if (to === undefined) return;
    event.preventDefault();
    buttons[to].focus();
    select(to);
  });
  panel.setAttribute("role", "tabpanel");
  panel.setAttribute("aria-labelledby", buttons[0].id);
  list.append(...buttons);
  return list;
}

// The steps of a test, and the phases of each of its steps, below its phases.
function stepsFigures(section) {
  const test = data.tests[Number(section.dataset.test)];
  for (const sequence of sequencesOf(test)) stepsFigure(section, sequence);
}

function stepsFigure(section, sequence) {
  const panel = element("div", { class: "panel" });
  const caption = element(
    "figcaption",
    {},
    element("strong", {}, sequence.what),
    element("span", {}, "elapsed time, lower is better"),
    element("span", {}, "a total needs every step"),
  );
  section.querySelector("details").append(element("figure", { class: "card" }, caption, panel));
  onDemand(panel, () =>
    panel.replaceChildren(
      stepsChart(sequence, shownContenders()),
      behind(stepsTable(sequence, shownContenders())),
      pictureButtons(`${sequence.name}: ${sequence.what}`, () => panel.querySelector("svg")),
    ),
  );
}
