// What simulated disks did in a phase: where the time went, a bar for each contender, and what an operation
// cost them.

const DISK_BARS = {
  width: 660,
  left: 128,
  right: 560,
  row: 24,
  bar: 15,
  top: 4,
  keys: 4,
  key: 130,
  ...(NARROW && { width: 380, left: 112, right: 290, keys: 2, key: 180 }),
};

// The class that colours each kind of time.
const DISK_PARTS = ["part6", "part0", "part5", "part2", "part7", "part3", "part1", "part4"];

const diskOf = (phase, contender) => phase.disk?.[contender] ?? null;

// What stands in the detail of one contender in a phase; nothing where no disk was simulated.
function diskSection(phase, contender) {
  if (diskOf(phase, contender) === null) return [];
  const shown = shownContenders().filter((c) => diskOf(phase, c) !== null);
  if (!shown.includes(contender)) shown.push(contender);
  return [
    element("h3", {}, "Where the time went"),
    element(
      "p",
      { class: "note" },
      "CPU: no request was in the simulated disk. Transfer: with the time of its command. Queue: it did something else first.",
    ),
    diskBars(phase, contender, shown),
    diskTable(phase, shown),
    ...explanationOf(phase, contender, shown),
    element("h3", {}, "On the disk"),
    ...mapOf(phase, contender),
  ];
}

// How to learn why one takes longer than another: functions of the kernel are in no campaign.
function explanationOf(phase, contender, shown) {
  const other = shown.find((c) => c !== contender);
  if (other === undefined) return [];
  const result = quoted(`${data.tests[phase.test].name}/${phase.name}`);
  const names = [contender, other].map((c) => quoted(contenders[c].name));
  const command = `fsarena explain ${data.simulation.campaign} ${result} ${names.join(" ")}`;
  return [element("p", { class: "note" }, "Why, by system call and function of the kernel: ", element("code", {}, command))];
}

// A word as a shell takes it.
const quoted = (word) => (/^[\w./@:=,+-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);

function diskBars(phase, marked, shown) {
  const kinds = usedKinds(phase, shown);
  const bottom = DISK_BARS.top + DISK_BARS.row * shown.length;
  const keys = 14 * Math.ceil(kinds.length / DISK_BARS.keys);
  const chart = drawing(
    "steps",
    DISK_BARS.width,
    bottom + 16 + keys,
    `Stacked bars: where the time of ${phase.name} went, a bar for each contender.`,
  );
  shown.forEach((contender, index) => {
    const y = DISK_BARS.top + DISK_BARS.row * (index + 0.5);
    chart.append(diskBar(diskOf(phase, contender), contender, y, contender === marked));
  });
  const names = kinds.map((kind) => [DISK_PARTS[kind], data.simulation.kinds[kind]]);
  chart.append(legend(names, { ...DISK_BARS, left: NARROW ? 4 : DISK_BARS.left }, bottom + 20));
  return chart;
}

// Kinds of time that somebody spent, in their order.
const usedKinds = (phase, shown) =>
  data.simulation.kinds.map((_, kind) => kind).filter((kind) => shown.some((c) => diskOf(phase, c).t[kind] > 0));

function diskBar(disk, contender, y, marked) {
  const group = drawn("g", { class: marked ? "marked" : null });
  group.append(label("name", DISK_BARS.left - 8, y + 4, contenders[contender].short));
  const x = (share) => DISK_BARS.left + ((DISK_BARS.right - DISK_BARS.left) * share) / 1000;
  let begin = 0;
  disk.t.forEach((share, kind) => {
    if (share === 0) return;
    const piece = drawn("rect", {
      class: `step ${DISK_PARTS[kind]}`,
      x: round(x(begin)),
      y: round(y - DISK_BARS.bar / 2),
      width: round(Math.max(x(begin + share) - x(begin), 0.3)),
      height: DISK_BARS.bar,
    });
    const { name } = contenders[contender];
    group.append(titled(piece, `${name}: ${data.simulation.kinds[kind]} ${round(share / 10)} %`));
    begin += share;
  });
  group.append(label("value", DISK_BARS.width - 2, y + 4, perOperation(disk)));
  return group;
}

// The time of an operation, as the table has it.
const perOperation = (disk) => (disk.v[0] === "–" ? "" : disk.v[0]);

// Which colour is what, in lines of a few.
function legend(names, { left, keys, key }, top) {
  const items = names.map(([kind, name], index) => {
    const x = left + key * (index % keys);
    const y = top + 14 * Math.floor(index / keys);
    const swatch = drawn("rect", { class: kind, x, y: y - 8, width: 9, height: 9 });
    return drawn("g", {}, swatch, label("key", x + 13, y, name));
  });
  return drawn("g", {}, ...items);
}

function diskTable(phase, shown) {
  const heads = data.simulation.columns.map(([name]) => [name, "n"]);
  const rows = shown.map((contender) => {
    const cells = diskOf(phase, contender).v.map((text, index) =>
      element("td", { class: "n", title: data.simulation.columns[index][1] }, text),
    );
    return element("tr", {}, element("th", { scope: "row" }, nameOf(contender)), ...cells);
  });
  const caption = "What an operation cost: requests, seeks and flushes for each; shares of all bytes read and written";
  return table(caption, [["Filesystem", ""], ...heads], rows);
}
