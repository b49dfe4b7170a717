// Which contenders are shown: by group and one by one. Everything on the page follows.

const hidden = new Set();
const followers = [];

const isShown = (contender) => !hidden.has(contender);
const shownContenders = () => contenders.map((_, c) => c).filter(isShown);

// Calls back whenever the choice changes.
const onFilter = (action) => followers.push(action);

function filterChanged() {
  for (const node of document.querySelectorAll("[data-c]")) node.hidden = hidden.has(Number(node.dataset.c));
  for (const action of followers) action();
  announce(`${shownContenders().length} of ${contenders.length} contenders shown`);
}

function setShown(list, shown) {
  for (const contender of list) {
    if (shown) hidden.delete(contender);
    else hidden.add(contender);
  }
  filterChanged();
}

function filterBar(host) {
  const boxes = contenders.map((contender, c) => checkbox(nameOf(c), (on) => setShown([c], on)));
  const groups = data.groups.map(({ title, members, named }) => {
    const box = checkbox(`${title} (${members.length})`, (on) => setShown(members, on));
    return { members, named, box };
  });
  const refresh = () => {
    boxes.forEach((box, c) => {
      box.input.checked = isShown(c);
    });
    for (const { members, box } of groups) {
      const count = members.filter(isShown).length;
      box.input.checked = count === members.length;
      box.input.indeterminate = count > 0 && count < members.length;
    }
    count.textContent = `${shownContenders().length} of ${contenders.length}`;
  };
  const count = element("span", { class: "absent" });
  const all = button("show all", { class: "quiet" }, () =>
    setShown(
      contenders.map((_, c) => c),
      true,
    ),
  );
  host.append(
    groupBoxes(
      "Groups, as probed",
      groups.filter(({ named }) => !named),
    ),
    groupBoxes(
      "Groups of the campaign",
      groups.filter(({ named }) => named),
    ),
    element(
      "details",
      { class: "each" },
      element("summary", {}, "Contenders shown: ", count),
      element("div", { class: "boxes" }, ...boxes.map((box) => box.label), all),
    ),
  );
  host.hidden = false;
  onFilter(refresh);
  refresh();
}

// Of groups that the campaign names one is often looked at alone.
function groupBoxes(title, groups) {
  if (groups.length === 0) return "";
  const alone = ({ members }) =>
    button("only", { class: "quiet" }, () => {
      hidden.clear();
      const others = contenders.map((_, c) => c).filter((c) => !members.includes(c));
      setShown(others, false);
    });
  return element(
    "fieldset",
    { class: "groups" },
    element("legend", {}, title),
    ...groups.flatMap((group) => (group.named ? [group.box.label, alone(group)] : [group.box.label])),
  );
}

function checkbox(text, action) {
  const input = element("input", { type: "checkbox", checked: true });
  input.addEventListener("change", () => action(input.checked));
  return { input, label: element("label", {}, input, " ", text) };
}
