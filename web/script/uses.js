// What the results come to for a use: weights that can be moved, and the answer and the order that follow. The cost is
// that of the analysis: of each round the weighted geometric mean of the groups' scores, and of the rounds the
// median.

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

// The cost of a contender in each round: how many times what the best of each result takes; null where the round is not
// whole. Nothing for those who do not qualify.
function roundsOf(use, weights, contender) {
  if (use.out[contender] !== "") return [];
  const parts = use.groups
    .map((group, index) => ({ scores: group.scores[contender], weight: weights[index] }))
    .filter(({ scores, weight }) => scores !== null && weight > 0);
  const whole = parts.reduce((sum, part) => sum + part.weight, 0);
  const rounds = parts.length > 0 ? parts[0].scores : [];
  return rounds.map((_, round) => {
    if (parts.some(({ scores }) => scores[round] === null)) return null;
    const sum = parts.reduce((total, { scores, weight }) => total + weight * Math.log(scores[round]), 0);
    return Math.exp(sum / whole);
  });
}

// The cost of each contender over rounds; null for those who have no whole round.
function costsOf(use, weights) {
  return contenders.map((_, contender) => {
    const rounds = roundsOf(use, weights, contender).filter((cost) => cost !== null);
    return rounds.length > 0 ? estimateOf(rounds) : null;
  });
}

// Median and interval over rounds, by the ranks that the analysis gives for so many of them.
function estimateOf(rounds) {
  const sorted = [...rounds].sort((a, b) => a - b);
  const count = sorted.length;
  const upper = sorted[Math.floor(count / 2)];
  const median = count % 2 === 1 ? upper : (sorted[count / 2 - 1] + upper) / 2;
  const rank = data.ranks[count];
  const same = sorted[0] === sorted.at(-1);
  return { median, low: sorted[rank - 1], high: sorted[count - rank], count, same };
}

// Those with a cost, the best first.
function orderedCosts(use, weights) {
  return costsOf(use, weights)
    .map((cost, contender) => ({ cost, contender }))
    .filter(({ cost, contender }) => cost !== null && isShown(contender))
    .sort((a, b) => a.cost.median - b.cost.median || a.contender - b.contender);
}

function orderOf(use, weights) {
  const ordered = orderedCosts(use, weights);
  const worst = Math.max(1, ...ordered.map(({ cost }) => cost.high));
  const rows = ordered.map(({ cost, contender }, index) =>
    element(
      "tr",
      {},
      element("td", { class: "n" }, String(index + 1)),
      element("th", { scope: "row" }, nameOf(contender)),
      element("td", { class: "n" }, `${threeDigits(cost.median)}×`),
      element(
        "td",
        { class: "n" },
        cost.count === 1
          ? "one round"
          : cost.same
            ? "same in each round"
            : `${threeDigits(cost.low)} … ${threeDigits(cost.high)}`,
      ),
      element("td", { class: "gauge" }, gauge(cost, worst)),
    ),
  );
  const heads = [
    ["Place", "n"],
    ["Contender", ""],
    ["Cost", "n"],
    ["Interval", "n"],
    ["", "gauge"],
  ];
  const said = element("p", { class: "said" }, answerOf(use, weights));
  const caption = "Cost: as many times what the best of each result takes, over all groups";
  return rows.length > 0 ? [said, table(caption, heads, rows)] : [said];
}

function gauge(cost, worst) {
  const x = (value) => (200 * value) / worst;
  const chart = drawn("svg", { class: "chart gauge", viewBox: "0 0 204 14", "aria-hidden": "true" });
  chart.append(drawn("rect", { class: "bar", x: 0, y: 3, width: round(x(cost.median)), height: 8 }));
  if (cost.count > 1) chart.append(whisker(x(cost.low), x(cost.high), 7));
  return chart;
}
