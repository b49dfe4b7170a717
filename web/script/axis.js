// Axes with round numbers: linear from 0, or logarithmic over whole decades; and what room there is.

// On a telephone charts are drawn for fewer pixels, so that their text stays as large as that around it.
const NARROW = innerWidth < 520;

// Steps of 1, 2, 2.5 or 5 times a power of ten, at most `most` of them.
function linearAxis(values, most = 4) {
  const low = Math.min(0, ...values);
  const high = Math.max(0, ...values);
  if (low === high) return axisOf(0, 1, [0, 1], (value) => value);
  const wanted = (high - low) / most;
  const power = 10 ** Math.floor(Math.log10(wanted));
  const factor = [1, 2, 2.5, 5, 10].find((f) => f * power >= wanted * (1 - 1e-12)) ?? 10;
  const step = factor * power;
  const [first, last] = [Math.floor(low / step), Math.ceil(high / step)];
  const ticks = Array.from({ length: last - first + 1 }, (_, i) => (first + i) * step);
  return axisOf(first * step, last * step, ticks, (value) => value);
}

// Values of 0 and less have no place on it: `share` is then NaN.
function logAxis(values) {
  const positive = values.filter((value) => value > 0);
  if (positive.length === 0) return linearAxis(values);
  let low = Math.floor(Math.log10(Math.min(...positive)) + 1e-9);
  let high = Math.ceil(Math.log10(Math.max(...positive)) - 1e-9);
  if (low === high) [low, high] = [low - 1, high + 1];
  const step = Math.ceil((high - low) / 6);
  const ticks = [];
  for (let power = low; power <= high; power += step) ticks.push(10 ** power);
  if (high - low === 1) ticks.splice(1, 0, 2 * 10 ** low, 5 * 10 ** low);
  return axisOf(10 ** low, 10 ** high, ticks, Math.log10);
}

function axisOf(low, high, ticks, scale) {
  const [begin, end] = [scale(low), scale(high)];
  return {
    ticks,
    share: (value) => (value > 0 || scale(1) === 1 ? (scale(value) - begin) / (end - begin) : NaN),
  };
}

// Up to which value bars are drawn, where a few flatten all others: beyond it they end in a tear. Some must be left to tell apart,
// and only what is several times as large as these is cut.
function clippedAt(values) {
  const sorted = values.filter(Number.isFinite).sort((a, b) => a - b);
  const largest = sorted.at(-1) ?? 0;
  const usual = sorted[Math.ceil(sorted.length * 0.7) - 1] ?? 0;
  return usual > 0 && largest > 6 * usual ? 2 * usual : largest;
}

// From somewhat below the least to somewhat above the most: for points, whose distance from 0 says nothing.
function spanAxis(values, most = 4) {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  if (!(high > low)) return linearAxis(values, most);
  if (low > 0 && high / low > 30) return logAxis(values);
  const room = (high - low) / 10;
  const axis = linearAxis([0, high - low + 2 * room], most);
  const step = axis.ticks[1] - axis.ticks[0];
  const first = Math.floor((low - (low - room < 0 && low >= 0 ? 0 : room)) / step) * step;
  const count = Math.ceil((high + room - first) / step);
  const ticks = Array.from({ length: count + 1 }, (_, i) => first + i * step);
  return axisOf(first, first + count * step, ticks, (value) => value);
}

// Ticks in a unit in which the largest has few digits: the words of each, and the unit, where it is another than that of the row.
function readableTicks(ticks, unit) {
  const [name, factor] = unitFor(unit, Math.max(...ticks.map(Math.abs)));
  return { words: ticks.map((tick) => tickLabel(tick / factor)), unit: name === unit ? null : name };
}

// On a logarithmic axis each tick has the unit that suits it.
const decadeLabel = (tick, unit) => {
  const [name, factor] = unitFor(unit, tick);
  return name === unit ? tickLabel(tick) : `${tickLabel(tick / factor)} ${name}`;
};

// A tick's number without digits that say nothing.
function tickLabel(value) {
  if (value !== 0 && Math.abs(value) < 1e-6) return value.toExponential(0);
  return String(Number(value.toFixed(6)));
}

// Moves the middles of labels apart until no two are nearer than `gap`, as little as needed, within the
// bounds as far as they reach.
function apart(wanted, gap, low, high) {
  const order = wanted.map((y, index) => ({ y, index })).sort((a, b) => a.y - b.y);
  let free = low;
  for (const entry of order) {
    entry.y = Math.max(entry.y, free);
    free = entry.y + gap;
  }
  let most = high;
  for (const entry of order.reverse()) {
    entry.y = Math.min(entry.y, most);
    most = entry.y - gap;
  }
  const places = [];
  for (const entry of order) places[entry.index] = entry.y;
  return places;
}
