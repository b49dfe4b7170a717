// The bar that stays in sight: which contenders and tests are shown, what else is hidden, and what can be exported. Everything
// on the page follows.

function filterBar(host) {
  const hide = [hiding("noisy", "hide noisy"), hiding("alike", "hide what hardly differs")];
  // On a telephone the bar has one line.
  host.append(contenderMenu(), testMenu(...(NARROW ? hide : [])), ...(NARROW ? [] : hide), shareMenu());
  const reset = button("show all", { class: "quiet" }, () =>
    change({ hidden: [], off: [], noisy: false, alike: false }),
  );
  host.append(reset);
  host.hidden = false;
  let hidden = [];
  const draw = () => {
    reset.hidden = chosen().isEverything;
    document.documentElement.classList.toggle("selected", !reset.hidden);
    // Of a large page every contender has hundreds of places: only those of who came or went are looked up.
    for (const c of [...without(hidden, state.hidden), ...without(state.hidden, hidden)])
      for (const node of document.querySelectorAll(`[data-c="${c}"]`)) node.hidden = !isShown(c);
    hidden = state.hidden;
    const { off } = chosen();
    for (const node of document.querySelectorAll("section[data-test]"))
      node.hidden = off.has(Number(node.dataset.test));
    for (const node of document.querySelectorAll("section[data-sweep-section]"))
      node.hidden = off.has(data.sweeps[Number(node.dataset.sweepSection)].tests[0]);
  };
  onChange(SELECTION, draw);
  onChange(["hidden"], () => announce(`${shownContenders().length} of ${contenders.length} filesystems shown`));
  if (!chosen().isEverything) draw();
  else reset.hidden = true;
  closeMenus(host);
}

const OF = NARROW ? "/" : " of ";

// What lies below the bar is to be seen when one is led there.
function minded(host) {
  // All that the page has is styled again when this changes.
  let height = null;
  const set = () => {
    if (height === host.offsetHeight) return;
    height = host.offsetHeight;
    document.documentElement.style.setProperty("--sticky", `${height}px`);
  };
  set();
  new ResizeObserver(set).observe(host);
}

// A menu closes when something else is used.
function closeMenus(host) {
  const close = (but) => {
    for (const menu of host.querySelectorAll("details[open]")) if (menu !== but) menu.open = false;
  };
  addEventListener("click", (event) => close(event.target.closest("#filter details")));
  host.addEventListener("keydown", (event) => {
    const menu = event.target.closest("details[open]");
    if (event.key !== "Escape" || !menu) return;
    menu.open = false;
    menu.querySelector("summary").focus();
  });
}

const menu = (summary, ...parts) =>
  element("details", { class: "menu" }, element("summary", {}, summary), element("div", { class: "panel" }, ...parts));

const without = (list, some) => list.filter((one) => !some.includes(one));
const withAll = (list, some) => [...new Set([...list, ...some])].sort((a, b) => a - b);

function contenderMenu() {
  const count = element("span");
  const show = (some, on) => change({ hidden: on ? without(state.hidden, some) : withAll(state.hidden, some) });
  const boxes = contenders.map((_, c) => checkbox(nameOf(c), (on) => show([c], on)));
  const groups = data.groups.map((group) => ({
    ...group,
    box: checkbox(`${group.title} (${group.members.length})`, (on) => show(group.members, on)),
  }));
  const draw = () => {
    boxes.forEach((box, c) => {
      box.input.checked = isShown(c);
    });
    for (const { members, box } of groups) {
      const shown = members.filter(isShown).length;
      box.input.checked = shown === members.length;
      box.input.indeterminate = shown > 0 && shown < members.length;
    }
    count.textContent = `${shownContenders().length}${OF}${contenders.length} filesystems`;
  };
  onChange(["hidden"], draw);
  draw();
  return menu(
    count,
    groupBoxes(
      "Kinds",
      groups.filter(({ named }) => !named),
    ),
    groupBoxes(
      "Groups of the campaign",
      groups.filter(({ named }) => named),
    ),
    element("div", { class: "boxes" }, ...boxes.map((box) => box.label)),
  );
}

// A group is often looked at alone.
function groupBoxes(title, groups) {
  if (groups.length === 0) return "";
  const alone = ({ members }) =>
    button("only", { class: "quiet" }, () =>
      change({
        hidden: without(
          contenders.map((_, c) => c),
          members,
        ),
      }),
    );
  return element(
    "fieldset",
    { class: "groups" },
    element("legend", {}, title),
    ...groups.map((group) => element("span", {}, group.box.label, " ", alone(group))),
  );
}

function testMenu(...hide) {
  const count = element("span");
  const boxes = choosable.map(({ title }, entry) =>
    checkbox(title, (on) => change({ off: on ? without(state.off, [entry]) : withAll(state.off, [entry]) })),
  );
  const draw = () => {
    boxes.forEach((box, entry) => {
      box.input.checked = !state.off.includes(entry);
    });
    count.textContent = `${choosable.length - state.off.length}${OF}${choosable.length} tests`;
  };
  onChange(["off"], draw);
  draw();
  const everything = choosable.map((_, entry) => entry);
  const both = [
    button("all", { class: "quiet" }, () => change({ off: [] })),
    button("none", { class: "quiet" }, () => change({ off: everything })),
  ];
  return menu(
    count,
    ...hide,
    element("p", {}, ...both),
    element("div", { class: "boxes" }, ...boxes.map((box) => box.label)),
  );
}

function hiding(part, words) {
  const box = checkbox(words, (on) => change({ [part]: on }));
  const draw = () => {
    box.input.checked = state[part];
  };
  onChange([part], draw);
  draw();
  return box.label;
}

function checkbox(text, action) {
  const input = element("input", { type: "checkbox", checked: true });
  input.addEventListener("change", () => action(input.checked));
  return { input, label: element("label", {}, input, " ", text) };
}
