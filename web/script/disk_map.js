// The map of a simulated disk: place over time, and beside it how much was done in each region.

const MAP = {
  width: 660,
  left: 66,
  right: 520,
  regions: 530,
  top: 18,
  height: 288,
  strip: 10,
  keys: 6,
  key: 108,
  ...(NARROW && { width: 380, left: 52, right: 290, regions: 298, keys: 2, key: 180 }),
};

// Kinds of what is in a bin, in their order, and their classes; flushes have a strip of their own.
const MAP_KINDS = [
  ["map-read", "read"],
  ["map-write", "write"],
  ["map-metadata", "metadata"],
  ["map-journal", "journal"],
  ["map-discard", "discard"],
  ["map-flush", "flush"],
];
// What the shares of a region are of.
const REGION_HEADS = ["Reads", "Writes", "Discards", "Metadata", "Journal", "Time"];

// The map of one contender, or how to draw it.
function mapOf(phase, contender) {
  const { map } = diskOf(phase, contender);
  const command = mapCommand(phase, contender);
  if (!map) {
    const why = "The map of this phase is omitted, to keep this page small. This command draws it: ";
    return [element("p", { class: "note" }, why, element("code", {}, command))];
  }
  const said =
    "Each mark is a piece of the disk in a moment; its colour says what most of its bytes were, its strength how many. " +
    "At the right: the share of the disk's time in each sixteenth. Every request, in full: ";
  return [
    element("p", { class: "note" }, said, element("code", {}, command)),
    mapChart(phase, contender, map),
    element(
      "details",
      { class: "data" },
      element("summary", {}, "Shares of each sixteenth of the disk"),
      regionTable(phase, map),
    ),
  ];
}

const mapCommand = (phase, contender) => {
  const { cell } = diskOf(phase, contender);
  return `fsarena disk requests ${data.simulation.campaign} --cell ${cell} --phase ${quoted(phase.name)} --format map -o map.svg`;
};

// Numbers below 16: a hexadecimal digit, and behind it, from A to Z, how many more of the same follow.
function unpackedRuns(text) {
  const numbers = [];
  for (const [, digit, letters] of text.matchAll(/([0-9a-f])([A-Z]*)/g)) {
    const more = [...letters].reduce((sum, letter) => sum * 26 + letter.charCodeAt(0) - 65, 0);
    for (let i = 0; i <= more; i++) numbers.push(Number.parseInt(digit, 16));
  }
  return numbers;
}

function mapChart(phase, contender, map) {
  const bottom = MAP.top + MAP.height;
  const base = bottom + MAP.strip + 20;
  const keys = 14 * Math.ceil(MAP_KINDS.length / MAP.keys);
  const chart = drawing(
    "map",
    MAP.width,
    base + 8 + keys,
    `Map of the disk of ${contenders[contender].name} in ${phase.name}: place over time.`,
  );
  const frame = { x: MAP.left, y: MAP.top, width: MAP.right - MAP.left, height: MAP.height + MAP.strip };
  chart.append(drawn("rect", { class: "map-frame", ...frame }), ...mapMarks(map), ...flushMarks(map));
  chart.append(label("level", MAP.left - 5, MAP.top + 9, map.size));
  chart.append(label("level", MAP.left - 5, bottom - 1, "0"));
  chart.append(label("level", MAP.left - 5, bottom + MAP.strip + 2, "flush"));
  chart.append(label("unit-above", MAP.left, base - 6, "0"));
  chart.append(label("unit", MAP.right, base - 6, map.took));
  chart.append(regionBars(map));
  chart.append(legend(MAP_KINDS, { ...MAP, left: 4 }, base + 14));
  return chart;
}

// All bins of one kind and strength are one path: thousands of elements would be slow.
function mapMarks(map) {
  const [columns, rows] = map.bins;
  const [width, height] = [(MAP.right - MAP.left) / columns, MAP.height / rows];
  const paths = new Map();
  unpackedRuns(map.cells).forEach((value, place) => {
    if (value === 0) return;
    const x = round(MAP.left + (place % columns) * width);
    const y = round(MAP.top + MAP.height - (Math.floor(place / columns) + 1) * height);
    const mark = `M${x} ${y}h${round(width)}v${round(height)}h-${round(width)}z`;
    paths.set(value, (paths.get(value) ?? "") + mark);
  });
  return [...paths].map(([value, d]) => {
    const kind = Math.floor((value - 1) / 3);
    return drawn("path", { class: `${MAP_KINDS[kind][0]} dense${(value - 1) % 3}`, d });
  });
}

function flushMarks(map) {
  const width = (MAP.right - MAP.left) / map.bins[0];
  return unpackedRuns(map.flushes).map((digits, column) => {
    if (digits === 0) return null;
    const mark = drawn("rect", {
      class: `map-flush dense${digits > 6 ? 2 : digits > 2 ? 1 : 0}`,
      x: round(MAP.left + column * width),
      y: MAP.top + MAP.height + 1,
      width: round(width),
      height: MAP.strip - 1,
    });
    return titled(mark, `${2 ** (digits - 1)} flushes or more`);
  }).filter((mark) => mark !== null);
}

// The share of the disk's time in each region, at its height.
function regionBars(map) {
  const height = MAP.height / map.regions.length;
  const most = Math.max(...map.regions.map((region) => region[5]), 1);
  const bars = map.regions.map((region, place) => {
    const y = MAP.top + MAP.height - (place + 1) * height;
    const room = MAP.width - MAP.regions - 52;
    const bar = drawn("rect", {
      class: "bar",
      x: MAP.regions,
      y: round(y + 2),
      width: round((room * region[5]) / most),
      height: round(height - 4),
    });
    const shares = REGION_HEADS.map((head, i) => `${head} ${round(region[i] / 10)} %`).join(", ");
    const text = region[5] > 0 ? `${round(region[5] / 10)} %` : "";
    const x = MAP.regions + (room * region[5]) / most + 4;
    return titled(drawn("g", {}, bar, label("key", x, y + height / 2 + 4, text)), shares);
  });
  return drawn("g", {}, label("key", MAP.regions, MAP.top - 6, NARROW ? "time" : "share of time"), ...bars);
}

function regionTable(phase, map) {
  const rows = map.regions.map((region, place) =>
    element(
      "tr",
      {},
      element("th", { scope: "row" }, `${place + 1} of ${map.regions.length}`),
      ...region.map((share) => element("td", { class: "n" }, share > 0 ? `${round(share / 10)} %` : "")),
    ),
  );
  const heads = REGION_HEADS.map((head) => [head, "n"]);
  return table(`Regions of the disk in ${phase.name}, from its first sector`, [["Region", ""], ...heads], rows);
}
