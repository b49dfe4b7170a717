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
