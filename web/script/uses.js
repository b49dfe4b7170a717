// What the results come to for a use: weights that can be moved, and the answer and the order that follow (verdict.js).

function usesSection(section) {
  const uses = [...section.querySelectorAll("[data-use]")];
  const show = (chosen) => {
    for (const one of uses) one.hidden = one.dataset.use !== chosen;
  };
  if (uses.length > 1) {
    const options = uses.map((one) => [one.dataset.use, data.uses[Number(one.dataset.use)].title]);
    uses[0].before(element("div", { class: "controls" }, choice("use", options, "0", show)));
  }
  for (const one of uses) useView(one, data.uses[Number(one.dataset.use)]);
  show("0");
}

function useView(host, use) {
  const weights = use.groups.map((group) => group.weight);
  // The answer as documented makes room for the one that follows the sliders.
  host.querySelector(":scope > .said").remove();
  const order = host.querySelector(".order");
  const draw = () => order.replaceChildren(...orderOf(use, weights));
  const sliders = use.groups.map((group, index) => slider(use, weights, index, draw));
  const reset = button("weights as documented", { class: "quiet" }, () => {
    use.groups.forEach((group, index) => {
      weights[index] = group.weight;
      sliders[index].refresh();
    });
    draw();
  });
  host.querySelector(".weights").replaceChildren(...sliders.map(({ row }) => row), reset);
  onFilter(draw);
  draw();
}

// A group's weight: 0 leaves it out. What was not tested cannot weigh.
function slider(use, weights, index, draw) {
  const group = use.groups[index];
  const most = Math.max(100, ...use.groups.map((g) => g.weight));
  const id = `weight-${data.uses.indexOf(use)}-${index}`;
  const input = element("input", {
    type: "range",
    id,
    min: 0,
    max: most,
    step: 1,
    value: weights[index],
    disabled: !group.tested,
  });
  const shown = element("output", { for: id }, group.tested ? String(weights[index]) : "not tested");
  const refresh = () => {
    input.value = String(weights[index]);
    if (group.tested) shown.textContent = String(weights[index]);
  };
  input.addEventListener("input", () => {
    weights[index] = Number(input.value);
    refresh();
    draw();
  });
  input.addEventListener("change", () => announce(answerOf(use, weights)));
  const row = element(
    "div",
    { class: "weight" },
    element("label", { for: id, title: group.why }, group.title),
    input,
    shown,
  );
  return { row, refresh };
}

function orderOf(use, weights) {
  const { ranked } = standingOf(use, weights);
  const costs = ranked.map(({ contender, difference, verdict }) => ({
    contender,
    verdict,
    ratio: Math.exp(difference - ranked[0].difference),
  }));
  const shown = costs.filter(({ contender }) => isShown(contender));
  const worst = Math.max(1, ...shown.map(({ ratio }) => ratio));
  const rows = shown.map(({ contender, verdict, ratio }) =>
    element(
      "tr",
      {},
      element("th", { scope: "row" }, nameOf(contender)),
      element("td", { class: "n" }, `${threeDigits(ratio)}×`),
      element("td", {}, placeWords(verdict, use.margin)),
      element("td", { class: "gauge" }, gauge(ratio, worst)),
    ),
  );
  const heads = [
    ["Contender", ""],
    ["Times the lowest", "n"],
    ["Beside the best", ""],
    ["", "gauge"],
  ];
  const said = element("p", { class: "said" }, answerOf(use, weights));
  const caption = "What the same work costs in time, weighted over all groups, as a multiple of the first’s";
  return rows.length > 0 ? [said, table(caption, heads, rows)] : [said];
}

function gauge(ratio, worst) {
  const chart = drawn("svg", { class: "chart gauge", viewBox: "0 0 204 14", "aria-hidden": "true" });
  chart.append(drawn("rect", { class: "bar", x: 0, y: 3, width: round((200 * ratio) / worst), height: 8 }));
  return chart;
}
