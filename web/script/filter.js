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
  const groups = data.groups.map((group, g) => {
    const members = contenders.map((_, c) => c).filter((c) => contenders[c].group === g);
    const text = `${group.title} (${members.length})`;
    return { members, box: checkbox(text, (on) => setShown(members, on)) };
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
    element(
      "fieldset",
      { class: "groups" },
      element("legend", {}, "Groups, as probed"),
      ...groups.map(({ box }) => box.label),
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

function checkbox(text, action) {
  const input = element("input", { type: "checkbox", checked: true });
  input.addEventListener("change", () => action(input.checked));
  return { input, label: element("label", {}, input, " ", text) };
}
