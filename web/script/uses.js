// The first screen: the uses, one click each; for the chosen one the answer, how it comes about, ranked bars, and weights that
// can be moved.

const MOST_BARS = 12;
const RANKS_NOTE =
  "A bar ends at the most that a filesystem costs, as a multiple of the best’s cost; its mark is the estimate. Cost is time for the same work; for space, disk.";

function usesSection(section) {
  const panels = [...section.querySelectorAll("[data-use]")];
  const tabs = panels.map((panel, use) =>
    button(data.uses[use].title, { "aria-pressed": "false" }, () => change({ use, weights: null })),
  );
  panels[0].before(element("div", { class: "uses", role: "group", "aria-label": "Uses" }, ...tabs));
  const views = panels.map((panel, use) => useView(panel, data.uses[use]));
  const draw = () => {
    panels.forEach((panel, use) => {
      panel.hidden = use !== state.use;
      tabs[use].setAttribute("aria-pressed", String(use === state.use));
    });
    views[state.use]();
  };
  onChange([...SELECTION, "use", "weights"], draw);
  draw();
}

// The parts of the state that say what is shown.
const SELECTION = ["hidden", "off", "noisy", "alike"];

function useView(host, use) {
  const order = host.querySelector(".order");
  const title = host.querySelector("h2");
  const said = host.querySelector(".said");
  const settle = host.querySelector(".settle dd");
  const sliders = weightSliders(use);
  host.querySelector(".weights").replaceChildren(...sliders.rows, sliders.reset);
  const out = host.querySelector(".ruled-out");
  const excluded = host.querySelector(".excluded");
  let all = false;
  const draw = () => {
    const found = weighedUse();
    said.replaceChildren(...withCode(sentenceOf(answerOf(use, found))));
    title.textContent = [
      use.title,
      ...(chosen().isEverything ? [] : ["of what is shown"]),
      ...(state.weights === null ? [] : ["with your weights"]),
    ].join(" · ");
    const words = settledBy(found, use);
    settle.closest("dl").hidden = words === "";
    settle.replaceChildren(...withCode(words));
    sliders.refresh();
    out.replaceChildren(...ruledOut(found));
    excluded.hidden = found.nobody || found.against.size === 0;
    excluded.textContent = `Excluded: ${oneFactEach(found.against)}.`;
    const more = found.ranked.length - MOST_BARS;
    const toggle = button(all ? "fewer" : `${more} more`, { class: "quiet" }, () => {
      all = !all;
      draw();
    });
    const picture = pictureButtons(`${use.title}: what the same work costs`, () => order.querySelector("svg"));
    const parts = rankFigure(use, found, all);
    order.replaceChildren(...parts, ...(more > 0 ? [toggle] : []), ...(parts.length > 0 ? [picture] : []));
  };
  return draw;
}

// A sentence, in which what stands between two backticks is code.
const withCode = (text) => text.split("`").map((part, index) => (index % 2 === 1 ? element("code", {}, part) : part));

function ruledOut({ against }) {
  if (against.size === 0) return [];
  const lines = [...against].map(([contender, { reasons }]) =>
    element("li", {}, nameOf(contender), `: ${reasons.map(({ what, why }) => (why ? `${what}: ${why}` : what)).join("; ")}`),
  );
  return [element("p", {}, element("b", {}, "Excluded:")), element("ul", { class: "plain" }, ...lines)];
}

// A slider for each group; what was not tested cannot weigh.
function weightSliders(use) {
  const number = data.uses.indexOf(use);
  const most = Math.max(100, ...use.groups.map((group) => group.weight));
  const parts = use.groups.map((group, index) => {
    const id = `weight-${number}-${index}`;
    const input = element("input", { type: "range", id, min: 0, max: most, step: 1, disabled: !group.tested });
    const shown = element("output", { for: id });
    input.addEventListener("input", () => {
      const weights = weightsOf(use).map((weight, place) => (place === index ? Number(input.value) : weight));
      change({
        weights: isSame(
          weights,
          use.groups.map(({ weight }) => weight),
        )
          ? null
          : weights,
      });
    });
    input.addEventListener("change", () => announce(answerOf(use, weighedUse())));
    const name = element("label", { for: id, title: group.why }, group.title);
    return { input, shown, row: element("div", { class: "weight" }, name, input, shown) };
  });
  const refresh = () =>
    weightsOf(use).forEach((weight, index) => {
      parts[index].input.value = String(weight);
      parts[index].shown.textContent = use.groups[index].tested ? String(weight) : "no result";
    });
  refresh();
  const reset = button("weights as documented", { class: "quiet" }, () => change({ weights: null }));
  return { rows: parts.map(({ row }) => row), reset, refresh };
}

// Ranked bars, and the same as a table.
function rankFigure(use, { ranked, tested }, all) {
  if (ranked.length === 0) return [];
  const shown = all ? ranked : ranked.slice(0, MOST_BARS);
  return [
    element(
      "p",
      { class: "note" },
      RANKS_NOTE + (tested < 0.995 ? ` Of the ${percent(tested)} of the weight that was tested.` : ""),
    ),
    rankChart(shown, use.margin),
    behind(rankTable(ranked, use.margin)),
  ];
}

function rankTable(ranked, margin) {
  const rows = ranked.map(({ contender, difference, bound, verdict }, index) =>
    element(
      "tr",
      {},
      element("th", { scope: "row" }, nameOf(contender)),
      element("td", { class: "n" }, `${threeDigits(Math.exp(difference))}×`),
      element("td", { class: "n" }, bound === null ? "unknown" : excessWords(bound)),
      element("td", {}, rankWords(verdict, index, margin)),
      element("td", {}, contenders[contender].cuts ?? "not tested"),
    ),
  );
  const heads = [
    ["Filesystem", ""],
    ["Estimate", "n"],
    ["At most", "n"],
    ["Compared with the best", ""],
    ["In power cuts", ""],
  ];
  return table("What the same work costs with these weights, compared with the best", heads, rows);
}
