// What the reader has chosen, and nothing that follows from it. It changes in one place, is written into the address, and
// everybody who draws is told: the address of a page shows the same elsewhere.

const DEFAULTS = {
  // Contenders and tests that are switched off.
  hidden: [],
  off: [],
  noisy: false,
  alike: false,
  // The use, and its weights where they are not those documented.
  use: data.firstUse,
  weights: null,
  // How the results are sorted: contenders by rank, as planned, or by a phase; phases by a contender.
  order: "rank",
  column: null,
  view: "result",
  kind: "all",
  find: "",
  // What is open: the cell of a phase and a contender; a place of the page.
  open: null,
  at: null,
};

let state = DEFAULTS;
const followers = [];

// Calls back when one of these parts has changed.
const onChange = (parts, action) => followers.push({ parts, action });

function change(part) {
  const changed = Object.keys(part).filter((name) => !isSame(part[name], state[name]));
  if (changed.length === 0) return;
  state = { ...state, ...part };
  writeAddress();
  tell(changed);
}

function tell(changed) {
  for (const { parts, action } of followers) if (parts.some((name) => changed.includes(name))) action();
}

const isSame = (a, b) => JSON.stringify(a) === JSON.stringify(b);

// The address holds what is not the default: "use=2&hidden=3.4".
function addressOf(chosen) {
  const parts = Object.entries(chosen).filter(([name, value]) => !isSame(value, DEFAULTS[name]));
  return parts.map(([name, value]) => `${name}=${encodeURIComponent(written(value))}`).join("&");
}

const written = (value) => (Array.isArray(value) ? value.join(".") : value === true ? "1" : String(value));

const wholeNumber = (most) => (text) => (/^\d+$/.test(text) && Number(text) < most() ? Number(text) : undefined);
const listOf = (most) => (text) => {
  const numbers = text.split(".").map(wholeNumber(most));
  return numbers.includes(undefined) ? undefined : numbers;
};
const setOf = (most) => (text) => {
  const numbers = listOf(most)(text);
  return numbers && [...new Set(numbers)];
};
const flag = (text) => (text === "1" ? true : undefined);
const asIs = (text) => text.slice(0, 200);

// How each part is read; what does not fit this page is not taken.
const READ = {
  hidden: setOf(() => contenders.length),
  off: setOf(() => choosable.length),
  noisy: flag,
  alike: flag,
  use: wholeNumber(() => data.uses.length),
  weights: listOf(() => 1001),
  order: (text) => (/^(rank|planned|p\d+)$/.test(text) ? text : undefined),
  column: wholeNumber(() => contenders.length),
  view: (text) => (["result", "ratio", ...OTHER_METRICS].includes(text) ? text : undefined),
  kind: asIs,
  find: asIs,
  open: listOf(() => Math.max(data.phases.length, contenders.length)),
  at: (text) => (document.getElementById(text) ? text : undefined),
};

function readAddress() {
  const text = location.hash.slice(1);
  if (text !== "" && !text.includes("=")) return { ...DEFAULTS, at: READ.at(text) ?? null };
  const chosen = { ...DEFAULTS };
  for (const [name, value] of new URLSearchParams(text)) {
    const read = Object.hasOwn(READ, name) ? READ[name](value) : undefined;
    if (read !== undefined) chosen[name] = read;
  }
  if (chosen.weights?.length !== data.uses[chosen.use]?.groups.length) chosen.weights = null;
  if (chosen.open !== null && !isCell(chosen.open)) chosen.open = null;
  return chosen;
}

const isCell = (open) => open.length === 2 && open[0] < data.phases.length && open[1] < contenders.length;

// Browsers allow an address to change only so often: what changes at once is written once.
let writing = null;
function writeAddress() {
  clearTimeout(writing);
  writing = setTimeout(() => history.replaceState(null, "", `#${addressOf(state)}`), 150);
}

// The address as it is to be copied.
const linkToThis = () => `${location.href.split("#")[0]}#${addressOf(state)}`;

function takeAddress() {
  clearTimeout(writing);
  const before = state;
  state = readAddress();
  tell(Object.keys(state).filter((name) => !isSame(before[name], state[name])));
}
