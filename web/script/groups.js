// Costs over groups of tests with their answers, for the selection, by the estimates of the analysis (`stats::scores`).

function groupsSection(section) {
  // Of several disks each has scores of its own.
  if (data.byDisk) return;
  const grid = section.querySelector("table.overview");
  const list = section.querySelector("#by-group");
  const asAnalysed = {
    cells: [...grid.tBodies[0].rows].map((tr) => [...tr.cells].map((cell) => [...cell.childNodes])),
    list: list ? [...list.childNodes] : [],
  };
  const classes = [...grid.tBodies[0].rows].map((tr) => [...tr.cells].map((cell) => cell.className.replace(/\s*\bpaged\b/, "")));
  const fold = section.querySelector("details");
  let isOwn = true;
  const draw = () => {
    if (!fold.open) return;
    if (chosen().isEverything) {
      if (isOwn) return;
      [...grid.tBodies[0].rows].forEach((tr, line) =>
        [...tr.cells].forEach((cell, place) => {
          cell.replaceChildren(...asAnalysed.cells[line][place]);
          reclass(cell, classes[line][place]);
        }),
      );
      list?.replaceChildren(...asAnalysed.list);
      isOwn = true;
      return;
    }
    isOwn = false;
    drawGroups(grid, list);
  };
  onChange(SELECTION, draw);
  fold.addEventListener("toggle", draw);
  draw();
}

// Each group, and behind them all together where there are several.
function groupsShown() {
  const groups = inference.groups.map(([title, results]) => ({
    title,
    parts: [results.filter(([row]) => chosen().counts(row))],
  }));
  const all = {
    title: "all groups, each weighing the same",
    parts: groups.flatMap(({ parts }) => parts).filter((part) => part.length > 0),
  };
  return groups.length > 1 ? [...groups, all] : groups;
}

function drawGroups(grid, list) {
  const all = groupsShown().map((group) => ({ ...group, ...standingOfGroup(group.parts) }));
  all.forEach(({ parts, scores, ranked }, line) => {
    const tr = grid.tBodies[0].rows[line];
    if (!tr) return;
    tr.cells[1].textContent = String(parts.flat().length);
    for (const cell of tr.querySelectorAll("[data-c]")) {
      const c = Number(cell.dataset.c);
      if (scores.has(c))
        drawScore(
          cell,
          scores.get(c),
          ranked.find(({ contender }) => contender === c),
        );
    }
  });
  const some = all.filter(({ parts }) => parts.flat().length > 0);
  // One group is all there is.
  const said = some.length > 2 ? some : some.slice(0, 1);
  list?.replaceChildren(
    ...said.map(({ title, ranked, scores }) => {
      const whole = shownContenders().filter((c) => scores.get(c).counted > 0 && scores.get(c).missing === 0);
      const competes = shownContenders().filter((c) => !isBaseline(c));
      return element("li", {}, element("b", {}, `${title}:`), ` ${groupWords(title, ranked, whole, competes)}`);
    }),
  );
}

// What a group comes to, in words.
function groupWords(title, ranked, whole, competes) {
  const amounts = title === inference.space ? SPACE : COSTS;
  if (ranked.length > 0) return conclusionWords(ranked, competes, amounts);
  if (whole.length !== 1) return "no filesystem has all results.";
  const others = competes.filter((c) => !whole.includes(c));
  if (others.length === 0) return conclusionWords([], whole);
  return `only ${namesOf(whole, "or")} has all results. ${lackWords(others)}.`;
}

function standingOfGroup(parts) {
  const some = parts.filter((part) => part.length > 0);
  const tested = inference.groups.filter(([, results]) => results.some(([row]) => chosen().counts(row)));
  const family = tested.length + 1;
  // Every part weighs the same.
  const used = some.flatMap((part) => sharesOf(part, 1 / some.length)).sort((a, b) => a.row - b.row);
  const asked = { margin: inference.margin, limit: inference.falseLimit / (inference.endsByResults ? 2 : 1) / family };
  const ranked = used.length > 0 ? standingOf(used, shownContenders(), asked) : [];
  return { scores: countsOf(some), ranked };
}

// The results that each contender has and lacks.
function countsOf(parts) {
  const rows = parts.flat();
  const count = (contender) => {
    const counted = rows.filter(([row]) => isComparable(row, contender)).length;
    return { counted, missing: rows.length - counted };
  };
  return new Map(shownContenders().map((contender) => [contender, count(contender)]));
}

function drawScore(cell, { missing }, place) {
  if (!place) {
    const notes = missing > 0 ? ["not ranked"] : [];
    reclass(cell, "n absent");
    cell.replaceChildren("none", ...notes.map((note) => element("small", {}, note)));
    return;
  }
  const ratio = Math.exp(place.difference);
  const most = place.bound === null ? [] : [`at most ${excessWords(place.bound)}`];
  const notes = [...most, placeWords(place.verdict, inference.margin)];
  reclass(cell, `n h${ratioStep(ratio)}`);
  cell.replaceChildren(`${threeDigits(ratio)}×`, ...notes.map((note) => element("small", {}, note)));
}
