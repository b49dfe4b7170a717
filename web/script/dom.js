// Makes elements. Text goes in as text and nothing is ever parsed as HTML, so that a name from outside
// stays a name.

const SVG = "http://www.w3.org/2000/svg";

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

const element = (name, attributes = {}, ...children) =>
  fill(document.createElement(name), attributes, children);

const drawn = (name, attributes = {}, ...children) =>
  fill(document.createElementNS(SVG, name), attributes, children);

// A drawing with a word for those who cannot see it; the table beside it has the numbers.
function drawing(kind, width, height, description) {
  return drawn("svg", {
    class: `chart ${kind}`,
    viewBox: `0 0 ${width} ${height}`,
    role: "img",
    "aria-label": description,
  });
}

const label = (classes, x, y, text) => drawn("text", { class: classes, x: round(x), y: round(y) }, text);

// A line that tells its value when pointed at.
const titled = (node, text) => {
  node.append(drawn("title", {}, text));
  return node;
};

// What has no room is cut and ends with a sign that says so.
const shortened = (text, letters) =>
  [...text].length > letters ? `${[...text].slice(0, letters - 1).join("")}…` : text;

// Drawings need no more than a tenth of a pixel.
const round = (value) => Math.round(value * 10) / 10;

// A name from outside, kept apart from the direction of the text around it.
const nameOf = (contender) => element("bdi", {}, contenders[contender].label);

function table(caption, heads, rows) {
  const head = heads.map(([text, classes]) => element("th", { scope: "col", class: classes }, text));
  return element(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    element(
      "table",
      { class: "list" },
      element("caption", {}, caption),
      element("thead", {}, element("tr", {}, ...head)),
      element("tbody", {}, ...rows),
    ),
  );
}

// Says what has changed to those who do not see it.
function announce(text) {
  document.getElementById("status").textContent = text;
}

function button(text, attributes, action) {
  const made = element("button", { type: "button", ...attributes }, text);
  made.addEventListener("click", action);
  return made;
}

// A choice of one from a few, with its label.
function choice(text, options, chosen, action) {
  const select = element(
    "select",
    {},
    ...options.map(([value, shown]) => element("option", { value, selected: value === chosen }, shown)),
  );
  select.addEventListener("change", () => action(select.value));
  return element("label", { class: "choice" }, `${text} `, select);
}
