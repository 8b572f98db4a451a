// SPDX-License-Identifier: Apache-2.0
// Answers of tasks as a person reads them. Places in a text count code points, as the server gives them.
import { bar, copyButton, counted, element, number, percent } from "./elements.js";

const HUES = 8;

/// `spans` as [begin, end, attributes, children] over code points, in order; those that overlap an earlier one are left out.
function marked(text, spans) {
  const letters = Array.from(text);
  const parts = [];
  let at = 0;
  for (const { start, end, attributes, after } of [...spans].sort((a, b) => a.start - b.start)) {
    if (start < at || end <= start || end > letters.length) continue;
    parts.push(letters.slice(at, start).join(""));
    parts.push(element("mark", attributes ?? {}, letters.slice(start, end).join(""), after ?? null));
    at = end;
  }
  parts.push(letters.slice(at).join(""));
  return element("div", { class: "text boxed", tabindex: "0", role: "region", "aria-label": "The text with what was found" }, parts);
}

// Scores that nobody tells from nothing are as good as each other; the title has their digits.
function bars(items) {
  return element("ol", { class: "bars" }, items.map(({ name, score, more }) =>
    element("li", {}, element("span", {}, name), bar(score), element("span", { title: percent(score) }, score > 0 && score < 0.0001 ? "< 0.01%" : percent(score)),
      more ? element("span", { class: "wide" }, more) : null)));
}

function classes(result) {
  // Scores without a function may be any number: they are listed without bars.
  if (result.some(({ score }) => score < 0 || score > 1)) {
    return element("dl", {}, result.map(({ label, score }) => [element("dt", {}, label), element("dd", {}, number(score, 5))]));
  }
  return bars(result.map(({ label, score }) => ({ name: label, score })));
}

function entities(result, { text }) {
  const labels = [...new Set(result.map((entity) => entity.entity_group ?? entity.entity))];
  const hue = (label) => `hue-${labels.indexOf(label) % HUES}`;
  const counts = labels.map((label) => [label, result.filter((entity) => (entity.entity_group ?? entity.entity) === label).length]);
  const spans = result.map((entity) => {
    const label = entity.entity_group ?? entity.entity;
    return { start: entity.start, end: entity.end, attributes: { class: hue(label), title: `${label}, ${percent(entity.score)}` }, after: element("sub", {}, label) };
  });
  const legend = counts.length === 0 ? element("p", { class: "soft" }, "Nothing was found in this text.")
    : element("p", {}, counts.map(([label, count]) => [element("mark", { class: hue(label) }, label), ` ${count}   `]));
  return element("div", {}, legend, marked(text, spans));
}

function answers(result, { context }) {
  const all = (Array.isArray(result) ? result : [result]).toSorted((a, b) => b.score - a.score);
  const found = all.filter((answer) => answer.answer !== "");
  const spans = found.map((answer, rank) => ({ start: answer.start, end: answer.end, attributes: { class: rank === 0 ? "best" : "", title: percent(answer.score) } }));
  const list = all.map((answer) => ({ name: answer.answer || "The text does not say it", score: answer.score }));
  const text = marked(context, spans.sort((a, b) => (b.attributes.class === "best") - (a.attributes.class === "best")).slice(0, 1)
    .concat(spans.slice(1).filter((span) => spans[0].end <= span.start || span.end <= spans[0].start)));
  setTimeout(() => {
    const best = text.querySelector("mark.best");
    if (best) text.scrollTop = Math.max(0, best.offsetTop - text.offsetTop - text.clientHeight / 3);
  });
  return element("div", {}, bars(list), text);
}

function candidates(result) {
  const masks = Array.isArray(result[0]) ? result : [result];
  return element("div", {}, masks.map((list, place) => [
    masks.length > 1 ? element("h2", {}, `Gap ${place + 1}`) : null,
    bars(list.map(({ token_str: token, score, sequence }) => ({ name: element("code", {}, token), score, more: masks.length > 1 ? null : sequence }))),
  ]));
}

// A text and what a model made of it, side by side. `made` is a node, which may still grow.
function beside([left, right], source, made) {
  return element("div", { class: "beside" },
    element("section", {}, element("h2", {}, left), element("div", { class: "text boxed", tabindex: "0", role: "region", "aria-label": left }, source)),
    element("section", {}, element("h2", {}, right), element("div", { class: "text boxed made", lang: "", tabindex: "0", role: "region", "aria-label": right }, made),
      element("p", { class: "actions" }, copyButton(() => made.data))));
}

// What stands above the text and above what is made of it.
const SIDES = { translate: ["Text", "Translation"], summarize: ["Text", "Summary"] };

// A prompt, and the text behind it.
function continued(prompt, made) {
  return element("div", {},
    element("div", { class: "text boxed made", tabindex: "0", role: "region", "aria-label": "The text, and how it goes on" }, element("span", { class: "prompt" }, prompt), made),
    element("p", { class: "actions" }, copyButton(() => made.data)));
}

// Why a text ends where it does.
const ENDS = new Map([
  ["length", "It ends at the longest length that the settings allow."],
  ["stop_token", "The model ended it there."],
  ["stop_string", "It ends where a text came that ends it."],
]);

/// Why the text of an answer ends where it does; "" where the answer does not say it.
export function endOf(result) {
  return ENDS.get((Array.isArray(result) ? result[0] : result)?.finish_reason) ?? "";
}

// Puts `add` before the end of a text that is shown in `box`; the end stays in sight unless somebody reads further up.
function append(box, made, add) {
  const follows = box.scrollTop + box.clientHeight >= box.scrollHeight - 8;
  made.appendData(add);
  if (follows) box.scrollTop = box.scrollHeight;
}

/// A text that grows while its answer comes. `take` adds a piece and says how far it is, `settle` shows what is there at
/// once, `ended` gives the node with the whole answer. Pieces are shown together, as often as takes a fifth of the
/// browser's time: a long text is laid out anew with each of them, and the page has a button to press meanwhile.
export function growing(task, given) {
  const made = document.createTextNode("");
  const node = task === "generate" ? continued(given.text, made) : beside(SIDES[task], given.text, made);
  const box = node.querySelector(".made");
  let [pieces, pending, timer, cost] = [0, "", 0, 0];
  const settle = () => {
    clearTimeout(timer);
    timer = 0;
    if (pending === "") return;
    const since = performance.now();
    append(box, made, pending);
    pending = "";
    cost = performance.now() - since;
  };
  return {
    node,
    settle,
    begun: () => pieces > 0,
    take({ text }) {
      ++pieces;
      pending += text;
      if (pieces === 1) settle();
      timer ||= setTimeout(settle, Math.max(16, 4 * cost));
      return task !== "generate" ? `The model writes: ${counted(pieces, "sentence")} so far …` : "The model writes …";
    },
    ended(result) {
      settle();
      const whole = anyText(result) ?? result.translation ?? made.data;
      if (made.data !== whole) made.data = whole;
      return node;
    },
  };
}

function written(task, result, given) {
  return growing(task, given).ended(result);
}

// What a restored text has that the given one has not: letters that changed, and marks that were put in.
function restored(given, made) {
  const letters = Array.from(given);
  const parts = [];
  let at = 0;
  let run = "";
  let changedRun = false;
  const flush = () => {
    if (run) parts.push(changedRun ? element("span", { class: "changed" }, run) : run);
    run = "";
  };
  for (const letter of made) {
    const kept = letters[at] === letter;
    const cased = !kept && at < letters.length && letters[at].toLowerCase() === letter.toLowerCase();
    const spaced = !kept && !cased && /\s/.test(letter) && at < letters.length && /\s/.test(letters[at]);
    if (kept || cased || spaced) ++at;
    const changed = !kept && !spaced;
    if (changed !== changedRun) {
      flush();
      changedRun = changed;
    }
    run += letter;
  }
  flush();
  return element("div", {}, element("div", { class: "text boxed", tabindex: "0", role: "region", "aria-label": "The restored text" }, parts),
    element("p", { class: "actions" }, copyButton(() => made), element("small", {}, "What was put in is marked.")));
}

// Each word of the text, and the words of the translation that belong to it.
function aligned({ source_words: words, target_words: others, links }) {
  return element("dl", {}, words.map((word, index) => {
    const found = links.filter(({ source }) => source === index).map(({ target, probability }) => element("span", { title: percent(probability) }, `${others[target]} `));
    return [element("dt", {}, word), element("dd", {}, found.length > 0 ? found : "nothing")];
  }));
}

function cosine(a, b) {
  let [dot, left, right] = [0, 0, 0];
  for (let index = 0; index < a.length; ++index) {
    dot += a[index] * b[index];
    left += a[index] * a[index];
    right += b[index] * b[index];
  }
  return dot / Math.sqrt(left * right);
}

function vectors(result, { texts }) {
  const short = (text) => (text.length > 40 ? `${text.slice(0, 40)}…` : text);
  const head = element("tr", {}, element("td", {}), texts.map((_, index) => element("th", { scope: "col" }, String(index + 1))));
  const rows = result.map((vector, row) => element("tr", {}, element("th", { scope: "row" }, `${row + 1}  ${short(texts[row])}`),
    result.map((other) => element("td", {}, cosine(vector, other).toFixed(3)))));
  return element("div", {}, element("p", {}, `Each text became ${number(result[0].length)} numbers. `,
      result.length > 1 ? "How alike two texts are for the model, 1 at most:" : "Give several lines to compare them."),
    result.length > 1 ? element("div", { class: "scroll" }, element("table", { class: "grid-table", "aria-label": "How alike the texts are" }, head, rows)) : null,
    element("details", {}, element("summary", {}, "The numbers"), element("pre", {}, JSON.stringify(result))), element("p", { class: "actions" }, copyButton(() => JSON.stringify(result))));
}

// Passages, best first: where each is from, and what it says.
function passages({ passages: found }) {
  if (found.length === 0) return element("p", { class: "soft" }, "No passage has a word of the question.");
  return element("dl", {}, found.map(({ id, begin, score, title, text }) => [
    element("dt", { title: `score ${number(score, 5)}` }, title || id, begin > 0 ? `, from byte ${begin}` : ""),
    element("dd", {}, element("div", { class: "text" }, text))]));
}

// The first text in an answer of a shape that this page does not know.
function anyText(result) {
  const one = Array.isArray(result) ? result[0] : result;
  return ["restored_text", "generated_text", "text", "summary_text", "translation_text"].map((name) => one?.[name]).find((value) => typeof value === "string");
}

function unknown(result) {
  const text = anyText(result);
  return element("div", {}, text === undefined ? null : element("div", { class: "text boxed" }, text),
    element("details", { open: text === undefined }, element("summary", {}, "The answer as it came"), element("pre", {}, JSON.stringify(result, null, 2))));
}

/// The answer of `task` to what a person gave.
export function resultOf(task, result, given) {
  switch (task) {
    case "classify": return classes(result);
    case "search": return passages(result);
    case "rerank": return classes(result.map(({ index, score }) => ({ label: given.texts[index], score })));
    case "tag": return entities(result, given);
    case "answer": return answers(result, given);
    case "align": return aligned(result);
    case "choose": return bars(result.map(({ choice, score }) => ({ name: choice, score })));
    case "fill-mask": return candidates(result);
    case "embed": return vectors(result, given);
    case "translate": case "summarize": case "generate": return written(task, result, given);
    case "restore": return anyText(result) === undefined ? unknown(result) : restored(given.text, anyText(result));
    default: return unknown(result);
  }
}
