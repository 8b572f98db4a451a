// SPDX-License-Identifier: Apache-2.0
// The page of `weft attention`: a grid of heads, one head drawn large, and the strongest keys of one row in the text.
// Everything is in the page; nothing is fetched. The page of `weft serve` calls showHeads(data) with what it was sent.
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

let unpacked = new Map(); // "part/head" -> promise of its arrays
function arraysOf(part, head) {
  const name = `${part}/${head}`;
  if (!unpacked.has(name)) {
    const packed = data.parts[part].heads[head];
    unpacked.set(name, Promise.all([inflated(packed.mean), inflated(packed.largest), inflated(packed.key),
      inflated(packed.top_key), inflated(packed.top_weight)]).then(([mean, largest, key, topKey, topWeight]) => ({
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

// Draws the cells of a head, one pixel a cell. The colours run from the weakest to the strongest cell that is shown.
function paint(canvas, part, arrays, measure, hideSinks) {
  const { rows, columns, cell } = data.parts[part];
  const codes = arrays[measure];
  const hidden = new Set(hideSinks ? sinksOf(part, arrays.key).map((place) => Math.floor(place / cell)) : []);
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
  const index = place.row * part.columns + place.column;
  const query = [place.row * part.cell, Math.min(part.queries, (place.row + 1) * part.cell)];
  const key = [place.column * part.cell, Math.min(part.keys, (place.column + 1) * part.cell)];
  const where = `queries ${query[0]} to ${query[1] - 1} “${shortText(state.part, "query_text", ...query)}”, ` +
    `keys ${key[0]} to ${key[1] - 1} “${shortText(state.part, "key_text", ...key)}”: `;
  if (arrays.mean[index] === FORBIDDEN) return `${where}no edge`;
  const mean = decoded(arrays.mean[index], data.scales.mean);
  const largest = decoded(arrays.largest[index], data.scales.largest);
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
  paint(byId("large"), part, arrays, state.measure, state.hideSinks);
  const about = data.parts[part];
  const sinks = sinksOf(part, arrays.key);
  byId("about").textContent = `${about.name}, head ${about.heads[head].head} of ${about.all_heads}. Pattern: ${about.expression}. ` +
    `A cell is ${about.cell} × ${about.cell} tokens. ` +
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

function choose(part, head) {
  state.part = part;
  state.head = head;
  state.row = null;
  byId("position").max = data.parts[part].queries - 1;
  showHead();
}

function makeGrid() {
  const drawn = new IntersectionObserver((entries) => entries.forEach(async (entry) => {
    if (!entry.isIntersecting) return;
    drawn.unobserve(entry.target);
    const [part, head] = entry.target.parentElement.dataset.name.split("/").map(Number);
    paint(entry.target, part, await arraysOf(part, head), "largest", true);
  }));
  data.parts.forEach((part, number) => {
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

function listen() {
  byId("measure").addEventListener("change", (event) => { state.measure = event.target.value; showHead(); });
  byId("sinks").addEventListener("change", (event) => { state.hideSinks = event.target.checked; showHead(); });
  byId("position").addEventListener("change", (event) => chooseRow(Number(event.target.value)));
  byId("large").addEventListener("mousemove", async (event) => {
    byId("cell").textContent = cellText(placeOf(event), await arraysOf(state.part, state.head));
  });
  byId("large").addEventListener("click", (event) => chooseRow(placeOf(event).row * data.parts[state.part].cell));
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
  state = { part: 0, head: 0, measure: "mean", hideSinks: false, row: null };
  unpacked = new Map();
  makeGrid();
  listen();
  choose(0, 0);
}

if (byId("data")) showHeads(JSON.parse(byId("data").textContent));
