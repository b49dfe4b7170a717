// Draws when something comes into sight, and again when what it shows has changed; all of it before a
// page is printed.

const pending = new Map();
const finished = new Map();

const watcher = new IntersectionObserver(
  (entries) => {
    for (const entry of entries) if (entry.isIntersecting) drawNow(entry.target);
  },
  { rootMargin: "600px" },
);

// Calls `draw` once `node` is near, and after every change of the filter from then on.
function onDemand(node, draw) {
  pending.set(node, draw);
  watcher.observe(node);
}

function drawNow(node) {
  const draw = pending.get(node);
  if (!draw) return;
  pending.delete(node);
  watcher.unobserve(node);
  finished.set(node, draw);
  draw();
}

// What is not in the page any more is forgotten; what is out of sight waits until it is seen again.
function redraw() {
  for (const [node, draw] of finished) {
    if (!node.isConnected) finished.delete(node);
    else {
      finished.delete(node);
      onDemand(node, draw);
    }
  }
}

function drawEverything() {
  for (const node of [...pending.keys()]) drawNow(node);
}
