// SPDX-License-Identifier: Apache-2.0
// The page of `weft attention`: a grid of heads, one head drawn large, and the strongest keys of one row in the text.
// Everything is in the page; nothing is fetched. The page of `weft serve` calls showHeads(data) with what it was sent. The
// page of `weft attention --serve` asks its server for each head when it is looked at, for parts in smaller cells, and for rows.
// painting.js stands before it, in one script.

const SINK_SHARE = 4; // a sink receives this many times the attention of its rows' even share
let data = null;
let state = null;
const byId = (id) => document.getElementById(id);

async function inflated(base64) {
  const packed = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).arrayBuffer();
}

// What the server draws: POST of a question, one line about what goes wrong.
async function asked(path, question) {
  const answer = await fetch(path, { method: "POST", body: JSON.stringify(question) });
  const found = await answer.json();
  if (!answer.ok) throw new Error(found.error);
  return found;
}

function complain(error) {
  byId("served").textContent = `The server has no answer: ${error.message}`;
}

// What `make` gives for a head, made once.
function once(made, part, head, make) {
  const name = `${part}/${head}`;
  if (!made.has(name)) {
    const promise = make();
    made.set(name, promise);
    promise.catch(() => made.delete(name)); // a failure is tried again
  }
  return made.get(name);
}

// The cells of a head. A server draws those of a patient page after what a reader waits for.
let unpacked = new Map(); // "part/head" -> promise of its arrays
function arraysOf(part, head, patient = false) {
  return once(unpacked, part, head, async () => {
    const packed = data.cells ? await asked("/v1/head", { part, head, rows: false, patient }) : data.parts[part].heads[head];
    const [mean, largest, key] = await Promise.all([inflated(packed.mean), inflated(packed.largest), inflated(packed.key)]);
    return { mean: new Uint8Array(mean), largest: new Uint8Array(largest), key: new Float32Array(key) };
  });
}

// The strongest keys of one row: [{ key, weight }].
let unpackedRows = new Map(); // "part/head" -> promise of the lists of all rows
async function rowOf(part, head, row) {
  if (data.cells) {
    const sent = await asked("/v1/row", { part, head, row });
    return sent.keys.map((key, place) => ({ key, weight: sent.weights[place] }));
  }
  const { top } = data.parts[part];
  const [keys, weights] = await once(unpackedRows, part, head, async () => {
    const packed = data.parts[part].heads[head];
    const [key, weight] = await Promise.all([inflated(packed.top_key), inflated(packed.top_weight)]);
    return [new Int32Array(key), new Float32Array(weight)];
  });
  return Array.from({ length: top }, (_, place) => ({ key: keys[row * top + place], weight: weights[row * top + place] }))
    .filter(({ key }) => key >= 0);
}

// The codes of a cell: 1 to 255 for powers of two from `low` to `high`.
function decoded(code, scale) {
  return 2 ** (scale.low + ((code - 1) / 254) * (scale.high - scale.low));
}

// Keys that nearly all rows attend to whatever they say; their column hides all others.
function sinksOf(part, key) {
  const even = data.parts[part].queries / Math.max(1, data.parts[part].keys);
  const found = [];
  key.forEach((received, place) => {
    if (received > SINK_SHARE * even && received > 0.05 * data.parts[part].queries) found.push(place);
  });
  return found;
}

// A whole head as a picture: its cells, and where they stand.
function wholeOf(part, arrays) {
  const { rows, columns, cell } = data.parts[part];
  return { rows, columns, cell, row: 0, column: 0, mean: arrays.mean, largest: arrays.largest };
}

// The part of a picture that `crop` names in its cells; all of it without.
function cropped(picture, crop) {
  if (!crop) return picture;
  const cut = (codes) => Uint8Array.from({ length: crop.rows * crop.columns },
    (_, index) => codes[(crop.row + Math.floor(index / crop.columns)) * picture.columns + crop.column + index % crop.columns]);
  return { rows: crop.rows, columns: crop.columns, cell: picture.cell, mean: cut(picture.mean), largest: cut(picture.largest),
           row: picture.row + crop.row * picture.cell, column: picture.column + crop.column * picture.cell };
}

// What the large canvas shows of a head.
function shownOf(part, arrays) {
  return cropped(state.zoom ?? wholeOf(part, arrays), state.crop);
}

function tokensOf(part, side) {
  return data.texts[data.parts[part][side]].tokens;
}

function joined(part, side, begin, end) {
  const text = data.texts[data.parts[part][side]];
  return text.tokens.slice(Math.max(0, begin), end).join(text.separator);
}

function shortText(part, side, begin, end) {
  const text = joined(part, side, begin, Math.min(end, begin + 6));
  return end - begin > 6 ? `${text} …` : text;
}

function cellText(place, arrays) {
  const part = data.parts[state.part];
  const picture = shownOf(state.part, arrays);
  const index = place.row * picture.columns + place.column;
  const side = (first, cells, count) => [first + cells * picture.cell, Math.min(count, first + (cells + 1) * picture.cell)];
  const query = side(picture.row, place.row, part.queries);
  const key = side(picture.column, place.column, part.keys);
  const where = `queries ${query[0]} to ${query[1] - 1} “${shortText(state.part, "query_text", ...query)}”, ` +
    `keys ${key[0]} to ${key[1] - 1} “${shortText(state.part, "key_text", ...key)}”: `;
  if (picture.mean[index] === FORBIDDEN) return `${where}no edge`;
  const mean = decoded(picture.mean[index], data.scales.mean);
  const largest = decoded(picture.largest[index], data.scales.largest);
  return `${where}${mean.toPrecision(2)} times the even share, largest ${largest.toPrecision(2)}`;
}

function paragraph(text) {
  const result = document.createElement("p");
  result.textContent = text;
  return result;
}

function percent(share) {
  return `${Number((100 * share).toPrecision(3))}%`;
}

// A key of a row in its place in the text, with its weight, as a part of the row's strongest.
function keyLine(part, { key, weight }, strongest) {
  const line = document.createElement("li");
  const meter = document.createElement("meter");
  meter.max = strongest;
  meter.value = weight;
  meter.title = weight.toPrecision(4);
  const context = document.createElement("span");
  const marked = document.createElement("mark");
  marked.textContent = tokensOf(part, "key_text")[key];
  const gap = data.texts[data.parts[part].key_text].separator;
  context.append(joined(part, "key_text", key - 8, key) + gap, marked, gap + joined(part, "key_text", key + 1, key + 9));
  const share = document.createElement("span");
  share.textContent = percent(weight);
  context.prepend(`key ${key}: `);
  line.append(meter, share, context);
  return line;
}

async function listOfRow(part, head, row) {
  const about = data.parts[part];
  if (about.top === 0) {
    return [paragraph(about.name === "rollout" && about.cell > 1
      ? "Rollout of a long text is computed from cells of several tokens, which have no rows of tokens."
      : "This page lists no keys of its rows: it was made without, or there are too many rows and heads.")];
  }
  const found = await rowOf(part, head, row);
  const sinks = new Set(state.hideSinks ? sinksOf(part, (await arraysOf(part, head)).key) : []);
  const shown = found.filter(({ key }) => !sinks.has(key));
  const strongest = shown.reduce((most, { weight }) => Math.max(most, weight), 0);
  const list = document.createElement("ol");
  list.append(...shown.map((one) => keyLine(part, one, strongest || 1)));
  const listed = found.reduce((sum, { weight }) => sum + weight, 0);
  return [list, paragraph(`${shown.length} keys are listed. The ${about.top} strongest have ${(100 * listed).toFixed(1)}% of this row. ` +
    (strongest > 0 ? `The longest bar is the strongest key that is listed: ${percent(strongest)}.` : ""))];
}

async function showRow() {
  const panel = byId("row");
  const { part, head, row } = state;
  if (row === null) {
    panel.textContent = "Click a cell, or choose a row with the arrow keys, to list the strongest keys of that row.";
    return;
  }
  const title = document.createElement("h2");
  title.textContent = `Row ${row}: ${tokensOf(part, "query_text")[row]}`;
  const list = await listOfRow(part, head, row);
  if (part === state.part && head === state.head && row === state.row) panel.replaceChildren(title, ...list);
}

// showHead() from a place that cannot handle a failure: of a server, whose answer may not come, the page says it.
function redrawn() {
  return data.cells ? showHead().catch(complain) : showHead();
}

const LEAST_SIDE = 8; // cells of the smallest part that is shown
const LEAST_LETTERS = 5; // pixels of a line of words
const MOST_WORDS = 64; // of a side: more are too small to read

// The words of both sides beside the picture, where a cell is a token and there is room for them.
function showWords(part, picture) {
  const room = (count) => Math.floor((byId("large").clientWidth || 480) / count);
  const fits = picture.cell === 1 && Math.max(picture.rows, picture.columns) <= MOST_WORDS && room(Math.max(picture.rows, picture.columns)) >= LEAST_LETTERS;
  const fill = (name, side, begin, count) => {
    const box = byId(name);
    box.replaceChildren(...tokensOf(part, side).slice(begin, fits ? begin + count : begin).map((word) => {
      const label = document.createElement("span");
      label.textContent = word;
      return label;
    }));
    box.style.fontSize = `${Math.min(13, room(count))}px`;
  };
  fill("query-words", "query_text", picture.row, picture.rows);
  fill("key-words", "key_text", picture.column, picture.columns);
}

async function showHead() {
  const { part, head } = state;
  byId("large").setAttribute("aria-busy", "true");
  const arrays = await arraysOf(part, head).catch((error) => {
    byId("large")?.removeAttribute("aria-busy");
    throw error;
  });
  if (part !== state.part || head !== state.head || !byId("large")) return; // another head or text was chosen meanwhile
  const picture = shownOf(part, arrays);
  const sinks = sinksOf(part, arrays.key);
  showWords(part, picture);
  paint(byId("large"), picture, state.measure, state.hideSinks ? sinks : []);
  byId("large").removeAttribute("aria-busy");
  performance.mark("picture"); // bench/viewer reads when it was there
  const about = data.parts[part];
  byId("about").textContent = `${about.name}, head ${about.heads[head].head} of ${about.all_heads}. Pattern: ${about.expression}. ` +
    `A cell is ${picture.cell} × ${picture.cell} tokens. ` +
    (state.zoom || state.crop ? `Queries from ${picture.row}, keys from ${picture.column} on. ` : "") +
    (sinks.length > 0 ? `Sinks: ${sinks.slice(0, 8).map((key) => `${key} “${tokensOf(part, "key_text")[key]}”`).join(", ")}.` : "No key is a sink.");
  document.querySelectorAll("#grid button").forEach((button) => {
    button.setAttribute("aria-pressed", String(button.dataset.name === `${part}/${head}`));
  });
  await showRow();
}

function placeOf(event) {
  const canvas = byId("large");
  const box = canvas.getBoundingClientRect();
  const within = (share, count) => Math.max(0, Math.min(count - 1, Math.floor(share * count)));
  return { row: within((event.clientY - box.top) / box.height, canvas.height),
           column: within((event.clientX - box.left) / box.width, canvas.width) };
}

let zooms = 0; // counts what was asked for: an older answer that comes later is not shown

// Shows a part of the head in cells of so many tokens, its middle near two tokens; the whole head where that is as fine.
async function zoomTo(cell, query, key) {
  const { part, head } = state;
  const turn = ++zooms;
  const about = data.parts[part];
  if (cell >= about.cell) {
    state.zoom = null;
    return showHead();
  }
  const side = data.cells * cell;
  const first = (middle, count) => cell * Math.floor(Math.max(0, Math.min(middle - side / 2, count - side)) / cell);
  const sent = await asked("/v1/tile", { part, head, cell, row: first(query, about.queries), column: first(key, about.keys) });
  const [mean, largest] = await Promise.all([inflated(sent.mean), inflated(sent.largest)]);
  if (part !== state.part || head !== state.head || turn !== zooms) return; // something else was chosen meanwhile
  state.zoom = { ...sent, mean: new Uint8Array(mean), largest: new Uint8Array(largest) };
  return showHead();
}

// A part of `from` cells with the side of `crop` times `factor`, its middle near `at`; nothing where that is everything.
function cropOf(picture, crop, factor, at) {
  const side = (length, count) => Math.min(count, Math.max(LEAST_SIDE, Math.ceil(length * factor)));
  const rows = side(crop.rows, picture.rows);
  const columns = side(crop.columns, picture.columns);
  if (rows === picture.rows && columns === picture.columns) return null;
  const first = (middle, length, count) => Math.max(0, Math.min(count - length, Math.round(middle - length / 2)));
  return { rows, columns, row: first(crop.row + at.row, rows, picture.rows), column: first(crop.column + at.column, columns, picture.columns) };
}

// By a factor, at a place of the canvas: 4 shows a quarter of each side. A server draws it in smaller cells, down to single
// tokens; what cannot be finer is shown larger.
async function zoomBy(factor, place) {
  const { part, head } = state;
  const arrays = await arraysOf(part, head);
  const base = state.zoom ?? wholeOf(part, arrays);
  const shown = shownOf(part, arrays);
  const at = place ?? { row: shown.rows / 2, column: shown.columns / 2 };
  const finer = data.cells && data.parts[part].name !== "rollout";
  if (finer && !state.crop && (factor < 1 || base.cell > 1)) {
    const cell = factor > 1 ? Math.max(1, base.cell / factor) : base.cell / factor;
    return zoomTo(cell, base.row + (at.row + 0.5) * base.cell, base.column + (at.column + 0.5) * base.cell).catch(complain);
  }
  state.crop = cropOf(base, state.crop ?? { ...base, row: 0, column: 0 }, 1 / factor, at);
  return showHead();
}

// By quarters of what is shown.
async function moveBy(rows, columns) {
  const { part, head, crop } = state;
  if (crop) {
    const base = state.zoom ?? wholeOf(part, await arraysOf(part, head));
    state.crop = cropOf(base, crop, 1, { row: crop.rows * (0.5 + rows / 4), column: crop.columns * (0.5 + columns / 4) });
    return showHead();
  }
  if (!state.zoom) return undefined;
  const { row, column, cell } = state.zoom;
  const half = data.cells / 2;
  return zoomTo(cell, row + (half + rows * data.cells / 4) * cell, column + (half + columns * data.cells / 4) * cell).catch(complain);
}

function choose(part, head) {
  state.part = part;
  state.head = head;
  state.row = null;
  state.zoom = null;
  state.crop = null;
  byId("position").max = data.parts[part].queries - 1;
  byId("position").value = 0;
  return redrawn();
}

// Small pictures of a server are asked for one after the other, and it draws what a reader looks at beside them.
let smallPictures = Promise.resolve();

// "decoder.layers.3.cross" in words; a name of another form as it is.
function plainName(name) {
  if (name === "rollout") return "All layers together (rollout)";
  const found = /^(?:(encoder|decoder)\.)?layers\.(\d+)\.(self|cross)$/.exec(name);
  if (!found) return name;
  const [, side, layer, kind] = found;
  return `${side ? `${side[0].toUpperCase()}${side.slice(1)}, layer` : "Layer"} ${layer}${kind === "cross" ? ", looking at the source" : ""}`;
}

function makeGrid() {
  const drawn = new IntersectionObserver((entries) => entries.forEach(async (entry) => {
    if (!entry.isIntersecting) return;
    drawn.unobserve(entry.target);
    const [part, head] = entry.target.parentElement.dataset.name.split("/").map(Number);
    const small = async () => {
      const arrays = await arraysOf(part, head, true);
      entry.target.paint = () => paintSmall(entry.target, wholeOf(part, arrays), sinksOf(part, arrays.key));
      entry.target.paint();
    };
    if (data.cells) smallPictures = smallPictures.then(small).catch(complain);
    else await small();
  }));
  data.parts.forEach((part, number) => {
    if (part === null) return; // it has no weights to show
    const line = document.createElement("div");
    line.className = "line";
    const name = document.createElement("span");
    name.textContent = plainName(part.name);
    name.title = part.name;
    const heads = document.createElement("div");
    heads.className = "heads";
    line.append(name, heads);
    part.heads.forEach((_, head) => {
      const button = document.createElement("button");
      button.dataset.name = `${number}/${head}`;
      button.setAttribute("aria-label", `${part.name}, head ${part.heads[head].head}`);
      const small = document.createElement("canvas");
      button.append(small);
      button.addEventListener("click", () => choose(number, head));
      heads.append(button);
      drawn.observe(small);
    });
    byId("grid").append(line);
  });
}

function chooseRow(row) {
  state.row = Math.max(0, Math.min(data.parts[state.part].queries - 1, row));
  byId("position").value = state.row;
  return data.cells ? showRow().catch(complain) : showRow();
}

function listenToZoom() {
  const canvas = byId("large");
  canvas.addEventListener("dblclick", (event) => zoomBy(event.shiftKey ? 1 / 4 : 4, placeOf(event)));
  canvas.addEventListener("keydown", (event) => {
    const move = { ArrowLeft: [0, -1], ArrowRight: [0, 1], Home: [-1, 0], End: [1, 0] }[event.key];
    const factor = { "+": 4, "-": 1 / 4 }[event.key];
    if (move) moveBy(...move);
    if (factor) zoomBy(factor, null);
    if (move || factor) event.preventDefault();
  });
  byId("cell").textContent = `Double click, or the key +, shows a quarter of each side${data.cells ? " in smaller cells" : ""}. Shift and double click, ` +
    "or the key -, goes back. The left and right arrow keys, Home and End move.";
}

// Puts the words of both sides round the canvas.
function frameCanvas() {
  const frame = document.createElement("div");
  frame.id = "framed";
  const words = ["key-words", "query-words"].map((name) => {
    const box = document.createElement("div");
    box.id = name;
    box.setAttribute("aria-hidden", "true"); // the list of a row says them
    return box;
  });
  const canvas = byId("large");
  canvas.before(frame);
  frame.append(...words, canvas);
}

function listen() {
  byId("measure").addEventListener("change", (event) => { state.measure = event.target.value; redrawn(); });
  byId("sinks").addEventListener("change", (event) => { state.hideSinks = event.target.checked; redrawn(); });
  byId("position").addEventListener("change", (event) => chooseRow(Number(event.target.value)));
  byId("large").addEventListener("mousemove", async (event) => {
    byId("cell").textContent = cellText(placeOf(event), await arraysOf(state.part, state.head));
  });
  byId("large").addEventListener("click", (event) => {
    const { row, cell } = state.zoom ?? { row: 0, cell: data.parts[state.part].cell };
    chooseRow(row + ((state.crop?.row ?? 0) + placeOf(event).row) * cell);
  });
  listenToZoom();
  byId("large").addEventListener("keydown", (event) => {
    const step = { ArrowUp: -1, ArrowDown: 1, PageUp: -64, PageDown: 64 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    chooseRow((state.row ?? 0) + step);
  });
}

prefersDark.addEventListener("change", () => {
  if (!data || !byId("large")) return;
  showHead();
  document.querySelectorAll("#grid canvas").forEach((canvas) => canvas.paint?.());
});

// Shows `next` in the elements of the page, which are new: they have no listeners yet.
function showHeads(next) {
  data = next;
  state = { part: 0, head: 0, measure: "mean", hideSinks: false, row: null, zoom: null, crop: null };
  unpacked = new Map();
  unpackedRows = new Map();
  frameCanvas();
  makeGrid();
  listen();
  choose(data.parts.findIndex((part) => part !== null), 0);
}

if (byId("data")) showHeads(JSON.parse(byId("data").textContent));
if (byId("served")) fetch("/v1/view").then((answer) => answer.json()).then(showHeads).catch(complain);
