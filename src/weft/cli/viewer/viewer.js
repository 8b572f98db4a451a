// SPDX-License-Identifier: Apache-2.0
// The page of `weft attention`: a grid of heads, one head drawn large, and the strongest keys of one row in the text.
// Everything is in the page; nothing is fetched. The page of `weft serve` calls showHeads(data) with what it was sent. The
// page of `weft attention --serve` asks its server for each head when it is looked at, and for parts in smaller cells.
"use strict";

const FORBIDDEN = 0; // a cell without edges, which is not a cell without attention
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

let unpacked = new Map(); // "part/head" -> promise of its arrays
function arraysOf(part, head) {
  const name = `${part}/${head}`;
  if (!unpacked.has(name)) {
    const held = data.parts[part].heads[head];
    const sent = data.cells ? asked("/v1/head", { part, head }) : Promise.resolve(held);
    unpacked.set(name, sent.then((packed) => Promise.all([inflated(packed.mean), inflated(packed.largest), inflated(packed.key),
      inflated(packed.top_key), inflated(packed.top_weight)])).then(([mean, largest, key, topKey, topWeight]) => ({
      mean: new Uint8Array(mean), largest: new Uint8Array(largest), key: new Float32Array(key),
      topKey: new Int32Array(topKey), topWeight: new Float32Array(topWeight),
    })));
  }
  return unpacked.get(name);
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

function colour(share, dark) {
  const strength = Math.max(0, Math.min(1, share));
  const [from, to] = dark ? [[22, 24, 28], [255, 214, 102]] : [[255, 255, 255], [26, 60, 120]];
  return from.map((low, channel) => Math.round(low + (to[channel] - low) * strength));
}

const prefersDark = window.matchMedia("(prefers-color-scheme: dark)");

// A whole head as a picture: its cells, and where they stand.
function wholeOf(part, arrays) {
  const { rows, columns, cell } = data.parts[part];
  return { rows, columns, cell, row: 0, column: 0, mean: arrays.mean, largest: arrays.largest };
}

// Draws the cells of a picture, one pixel a cell. The colours run from the weakest to the strongest cell that is shown.
function paint(canvas, picture, measure, sinks) {
  const { rows, columns, cell } = picture;
  const codes = picture[measure];
  const hidden = new Set(sinks.map((place) => Math.floor((place - picture.column) / cell)));
  let low = 255;
  let high = 1;
  for (let index = 0; index < codes.length; ++index) {
    if (codes[index] === FORBIDDEN || hidden.has(index % columns)) continue;
    low = Math.min(low, codes[index]);
    high = Math.max(high, codes[index]);
  }
  low = Math.max(low, high - 96); // what is 4,000 times weaker is as good as nothing
  canvas.width = columns;
  canvas.height = rows;
  const context = canvas.getContext("2d");
  const image = context.createImageData(columns, rows);
  for (let index = 0; index < codes.length; ++index) {
    const code = codes[index];
    const shown = code === FORBIDDEN || hidden.has(index % columns)
      ? (prefersDark.matches ? [58, 30, 34] : [244, 232, 232])
      : colour((code - low) / Math.max(1, high - low), prefersDark.matches);
    image.data.set([...shown, 255], 4 * index);
  }
  context.putImageData(image, 0, 0);
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
  const picture = state.zoom ?? wholeOf(state.part, arrays);
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

async function showRow() {
  const panel = byId("row");
  panel.replaceChildren();
  if (state.row === null) {
    panel.textContent = "Click a cell, or choose a row with the arrow keys, to list the strongest keys of that row.";
    return;
  }
  const part = data.parts[state.part];
  const arrays = await arraysOf(state.part, state.head);
  const tokens = tokensOf(state.part, "key_text");
  const title = document.createElement("h2");
  title.textContent = `Row ${state.row}: ${tokensOf(state.part, "query_text")[state.row]}`;
  panel.append(title);
  if (part.top === 0) {
    const note = document.createElement("p");
    note.textContent = part.name === "rollout" && part.cell > 1
      ? "Rollout of a long text is computed from cells of several tokens, which have no rows of tokens."
      : "This page holds no rows: its text is too long for all its heads. Choose fewer layers or heads.";
    panel.append(note);
    return;
  }
  const sinks = new Set(state.hideSinks ? sinksOf(state.part, arrays.key) : []);
  const begin = state.row * part.top;
  const list = document.createElement("ol");
  let listed = 0;
  let shown = 0;
  for (let place = begin; place < begin + part.top; ++place) {
    const key = arrays.topKey[place];
    if (key < 0) continue;
    listed += arrays.topWeight[place];
    if (sinks.has(key)) continue;
    const item = document.createElement("li");
    const weight = document.createElement("meter");
    weight.value = arrays.topWeight[place];
    weight.title = arrays.topWeight[place].toPrecision(4);
    const context = document.createElement("span");
    const marked = document.createElement("mark");
    marked.textContent = tokens[key];
    const gap = data.texts[part.key_text].separator;
    context.append(joined(state.part, "key_text", key - 8, key) + gap, marked, gap + joined(state.part, "key_text", key + 1, key + 9));
    item.append(weight, ` ${arrays.topWeight[place].toPrecision(3)} key ${key} `, context);
    list.append(item);
    ++shown;
  }
  const sum = document.createElement("p");
  sum.textContent = `${shown} keys are listed. The ${part.top} strongest have ${(100 * listed).toFixed(1)}% of this row.`;
  panel.append(list, sum);
}

async function showHead() {
  const [part, head] = [state.part, state.head];
  const arrays = await arraysOf(part, head);
  if (part !== state.part || head !== state.head || !byId("large")) return; // another head or text was chosen meanwhile
  const picture = state.zoom ?? wholeOf(part, arrays);
  const sinks = sinksOf(part, arrays.key);
  paint(byId("large"), picture, state.measure, state.hideSinks ? sinks : []);
  const about = data.parts[part];
  byId("about").textContent = `${about.name}, head ${about.heads[head].head} of ${about.all_heads}. Pattern: ${about.expression}. ` +
    `A cell is ${picture.cell} × ${picture.cell} tokens. ` +
    (state.zoom ? `Queries from ${picture.row}, keys from ${picture.column} on. ` : "") +
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

// Shows a part of the head in cells of so many tokens, its middle near two tokens; the whole head where that is as fine.
async function zoomTo(cell, query, key) {
  const { part, head } = state;
  const about = data.parts[part];
  if (cell >= about.cell) {
    state.zoom = null;
    return showHead();
  }
  const side = data.cells * cell;
  const first = (middle, count) => cell * Math.floor(Math.max(0, Math.min(middle - side / 2, count - side)) / cell);
  const sent = await asked("/v1/tile", { part, head, cell, row: first(query, about.queries), column: first(key, about.keys) });
  const [mean, largest] = await Promise.all([inflated(sent.mean), inflated(sent.largest)]);
  if (part !== state.part || head !== state.head) return; // another head was chosen meanwhile
  state.zoom = { ...sent, mean: new Uint8Array(mean), largest: new Uint8Array(largest) };
  return showHead();
}

// By a factor, at a place of the canvas: 4 shows a quarter of each side.
async function zoomBy(factor, place) {
  if (!data.cells) return;
  const picture = state.zoom ?? wholeOf(state.part, await arraysOf(state.part, state.head));
  const cell = factor > 1 ? Math.max(1, picture.cell / factor) : picture.cell / factor;
  const at = place ?? { row: picture.rows / 2, column: picture.columns / 2 };
  await zoomTo(cell, picture.row + (at.row + 0.5) * picture.cell, picture.column + (at.column + 0.5) * picture.cell).catch(complain);
}

async function moveBy(rows, columns) {
  if (!state.zoom) return;
  const { row, column, cell } = state.zoom;
  const half = data.cells / 2;
  await zoomTo(cell, row + (half + rows * data.cells / 4) * cell, column + (half + columns * data.cells / 4) * cell).catch(complain);
}

function choose(part, head) {
  state.part = part;
  state.head = head;
  state.row = null;
  state.zoom = null;
  byId("position").max = data.parts[part].queries - 1;
  return data.cells ? showHead().catch(complain) : showHead();
}

// Small pictures of a server are asked for one after the other, so that the head that a reader chooses waits for one at most.
let smallPictures = Promise.resolve();

function makeGrid() {
  const drawn = new IntersectionObserver((entries) => entries.forEach(async (entry) => {
    if (!entry.isIntersecting) return;
    drawn.unobserve(entry.target);
    const [part, head] = entry.target.parentElement.dataset.name.split("/").map(Number);
    const small = async () => {
      const arrays = await arraysOf(part, head);
      paint(entry.target, wholeOf(part, arrays), "largest", sinksOf(part, arrays.key));
    };
    if (data.cells) smallPictures = smallPictures.then(small).catch(complain);
    else await small();
  }));
  data.parts.forEach((part, number) => {
    if (part === null) return; // it has no weights to show
    const line = document.createElement("div");
    line.className = "line";
    const name = document.createElement("span");
    name.textContent = part.name;
    line.append(name);
    part.heads.forEach((_, head) => {
      const button = document.createElement("button");
      button.dataset.name = `${number}/${head}`;
      button.setAttribute("aria-label", `${part.name}, head ${part.heads[head].head}`);
      const small = document.createElement("canvas");
      button.append(small);
      button.addEventListener("click", () => choose(number, head));
      line.append(button);
      drawn.observe(small);
    });
    byId("grid").append(line);
  });
}

function chooseRow(row) {
  state.row = Math.max(0, Math.min(data.parts[state.part].queries - 1, row));
  byId("position").value = state.row;
  showRow();
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
  byId("served").textContent = "Double click, or the key +, draws a quarter of each side in smaller cells, shift and double click, or the key -, " +
    "goes back. The left and right arrow keys, Home and End move.";
}

function listen() {
  byId("measure").addEventListener("change", (event) => { state.measure = event.target.value; showHead(); });
  byId("sinks").addEventListener("change", (event) => { state.hideSinks = event.target.checked; showHead(); });
  byId("position").addEventListener("change", (event) => chooseRow(Number(event.target.value)));
  byId("large").addEventListener("mousemove", async (event) => {
    byId("cell").textContent = cellText(placeOf(event), await arraysOf(state.part, state.head));
  });
  byId("large").addEventListener("click", (event) => {
    const { row, cell } = state.zoom ?? { row: 0, cell: data.parts[state.part].cell };
    chooseRow(row + placeOf(event).row * cell);
  });
  if (data.cells) listenToZoom();
  byId("large").addEventListener("keydown", (event) => {
    const step = { ArrowUp: -1, ArrowDown: 1, PageUp: -64, PageDown: 64 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    chooseRow((state.row ?? 0) + step);
  });
}

prefersDark.addEventListener("change", () => { if (data && byId("large")) showHead(); });

// Shows `next` in the elements of the page, which are new: they have no listeners yet.
function showHeads(next) {
  data = next;
  state = { part: 0, head: 0, measure: "mean", hideSinks: false, row: null, zoom: null };
  unpacked = new Map();
  makeGrid();
  listen();
  choose(data.parts.findIndex((part) => part !== null), 0);
}

if (byId("data")) showHeads(JSON.parse(byId("data").textContent));
if (byId("served")) fetch("/v1/view").then((answer) => answer.json()).then(showHeads).catch(complain);
