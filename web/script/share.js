// What can be exported: a link to this view, its data as CSV and JSON, the command that repeats the campaign, and charts as
// pictures with their title, source and date in them.

function shareMenu() {
  return menu(
    "export",
    button("Copy the link to this view", {}, () => copy(linkToThis(), "Link copied")),
    button("This view’s data as CSV", {}, () => save(csvOfView(), "text/csv", "csv")),
    button("This view’s data as JSON", {}, () => save(JSON.stringify(viewData(), null, 1), "application/json", "json")),
    ...commandAndItsButton(),
  );
}

// Nothing repeats what another program measured.
function commandAndItsButton() {
  if (!data.command) return [];
  return [
    button("Copy the command that repeats the campaign", {}, () => copy(data.command, "Command copied")),
    element("code", { class: "command" }, data.command),
  ];
}

async function copy(text, words) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // A page from a file may not have the clipboard; a field that is selected always can be copied.
    const field = element("textarea", { class: "unseen" }, text);
    document.body.append(field);
    field.select();
    document.execCommand("copy");
    field.remove();
  }
  announce(words);
}

const fileName = (ending, ...parts) =>
  `${["fsarena", data.number, ...parts]
    .join("-")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .slice(0, 90)}.${ending}`;

// Gives a file to the reader.
function save(content, type, ending, ...parts) {
  const href = URL.createObjectURL(new Blob([content], { type }));
  element("a", { href, download: fileName(ending, ...parts) }).click();
  setTimeout(() => URL.revokeObjectURL(href), 10000);
  announce(`${ending.toUpperCase()} saved`);
}

// Every result shown, with the primary metric of its phase.
function viewData() {
  const phases = data.phases.filter((_, phase) => isPhaseShown(phase));
  return {
    title: data.title,
    begun: data.date,
    campaign: data.number,
    command: data.command,
    address: addressOf(state),
    use: data.uses[state.use]?.title ?? null,
    answer: weighedUse() ? sentenceOf(answerOf(data.uses[state.use], weighedUse())) : null,
    ranking: (weighedUse()?.ranked ?? []).map(({ contender, difference, bound, verdict }, index) => ({
      contender: contenders[contender].name,
      times_the_lowest: Number(threeDigits(Math.exp(difference))),
      at_most_more: bound === null ? null : Math.expm1(bound.most),
      place: rankWords(verdict, index, data.uses[state.use].margin),
    })),
    results: phases.flatMap((phase) => resultsOf(phase)),
  };
}

function resultsOf(phase) {
  const [row] = phase.rows;
  const ratios = ratiosOf(row);
  return shownContenders().map((contender) => {
    const result = resultOf(row, contender);
    const ratio = ratios[contender] ?? null;
    return {
      test: data.tests[phase.test].name,
      phase: phase.name,
      metric: metricOf(row).name,
      unit: row.u,
      contender: contenders[contender].name,
      median: result.words ? null : result.median,
      low: result.words ? null : result.low,
      high: result.words ? null : result.high,
      times_the_best: ratio === null ? null : Number(threeDigits(ratio)),
      place: result.place ?? "",
      status: result.words ?? "ok",
    };
  });
}

function csvOfView() {
  const { results } = viewData();
  const heads = [
    "test",
    "phase",
    "metric",
    "unit",
    "contender",
    "median",
    "low",
    "high",
    "times_the_best",
    "place",
    "status",
  ];
  const lines = results.map((result) => heads.map((head) => csvField(result[head])).join(","));
  return `${[heads.join(","), ...lines].join("\r\n")}\r\n`;
}

// A field as RFC 4180 has it; what a spreadsheet would take for a formula is not one.
function csvField(value) {
  const text =
    value === null ? "" : typeof value === "number" ? String(value) : String(value).replace(/^[=+@\t\r-]/, "'$&");
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

// Buttons that save the chart that `find` gives.
function pictureButtons(title, find) {
  const as = (ending, make) =>
    button(ending.toUpperCase(), { class: "quiet", "aria-label": `${title} as ${ending.toUpperCase()}` }, async () =>
      save(await make(pictureOf(find(), title)), ending === "svg" ? "image/svg+xml" : "image/png", ending, title),
    );
  return element(
    "span",
    { class: "save" },
    as("svg", (picture) => picture.text),
    as("png", pixelsOf),
  );
}

const PICTURE = { margin: 10, head: 40, foot: 22 };

// A chart as a document of its own, in the colours that it has here.
function pictureOf(chart, title) {
  const [, , width, height] = chart.getAttribute("viewBox").split(" ").map(Number);
  const wide = width + 2 * PICTURE.margin;
  const high = height + PICTURE.head + PICTURE.foot;
  const copyOf = chart.cloneNode(true);
  paint(chart, copyOf);
  for (const [name, value] of Object.entries({ x: PICTURE.margin, y: PICTURE.head, width, height }))
    copyOf.setAttribute(name, value);
  const page = getComputedStyle(document.body);
  const text = (y, size, words, weight = 400) =>
    drawn(
      "text",
      {
        x: PICTURE.margin,
        y,
        fill: page.color,
        "font-size": size,
        "font-weight": weight,
        "font-family": "system-ui, DejaVu Sans, sans-serif",
      },
      words,
    );
  const letters = Math.floor(wide / 6.4);
  const picture = drawn(
    "svg",
    {
      width: wide,
      height: high,
      viewBox: `0 0 ${wide} ${high}`,
      role: "img",
      "aria-label": chart.getAttribute("aria-label"),
    },
    drawn("rect", { width: wide, height: high, fill: page.backgroundColor }),
    text(17, 13, shortened(title, Math.floor(letters * 0.85)), 600),
    text(32, 10.5, shortened(data.title, letters)),
    copyOf,
    text(high - 7, 10, shortened(`fsarena, campaign ${data.number}, ${data.date}`, letters)),
  );
  return { text: new XMLSerializer().serializeToString(picture), wide, high };
}

// What a style sheet says of a drawing is written into it: a picture has no sheet.
const PAINTED = [
  "fill",
  "stroke",
  "stroke-width",
  "stroke-dasharray",
  "stroke-linecap",
  "opacity",
  "font-size",
  "font-weight",
  "font-style",
  "font-family",
  "text-anchor",
];

function paint(from, to) {
  const style = getComputedStyle(from);
  for (const name of PAINTED) to.setAttribute(name, style.getPropertyValue(name));
  [...from.children].forEach((child, index) => paint(child, to.children[index]));
}

// The same as pixels, two for one.
async function pixelsOf({ text, wide, high }) {
  const image = new Image();
  const source = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
  image.src = source;
  await image.decode();
  URL.revokeObjectURL(source);
  const canvas = element("canvas", { width: wide * 2, height: high * 2 });
  canvas.getContext("2d").drawImage(image, 0, 0, wide * 2, high * 2);
  return new Promise((done) => canvas.toBlob(done, "image/png"));
}
