// SPDX-License-Identifier: Apache-2.0
// The models that are served: a card of each, and its tasks to try on a text of one's own.
import { alertOf, announce, element, labelled, number, scaled } from "./elements.js";
import { resultOf } from "./results.js";
import { ask, servedModels } from "./server.js";

const LOOM = "The Jacquard loom was shown in Lyon in 1804. Joseph Marie Jacquard, a weaver and merchant, built it from ideas of Basile Bouchon and " +
  "Jacques de Vaucanson. Cards with holes told the loom which threads to lift, so that one weaver could make patterns that had needed two before.";

// What a task is called, and what a person gives for it: fields, and how a request is made of them.
const TASKS = {
  translate: { title: "Translate", fields: ["text", "source", "target"], example: { text: "Hello! How are you today?" },
    body: ({ text, source, target }) => ({ text, ...(source && { source_lang: source }), ...(target && { target_lang: target }) }) },
  summarize: { title: "Summarise", fields: ["text"], example: { text: LOOM }, body: ({ text }) => ({ inputs: text }) },
  classify: { title: "Classify", fields: ["text"], example: { text: "The plot is thin, but the weaving scenes are a delight." }, body: ({ text }) => ({ inputs: text }) },
  tag: { title: "Find names", fields: ["text"], example: { text: LOOM }, body: ({ text }) => ({ inputs: text }) },
  answer: { title: "Answer a question", fields: ["question", "context"], example: { question: "What told the loom which threads to lift?", context: LOOM },
    body: ({ question, context }) => ({ inputs: { question, context }, parameters: { top_k: 3 } }) },
  align: { title: "Align words", fields: ["text", "translation", "target"], example: { text: "The weaver sits at the loom.", translation: "Der Weber sitzt am Webstuhl." },
    body: ({ text, translation, target }) => ({ inputs: { text, text_pair: translation }, parameters: target ? { tgt_lang: target } : {} }) },
  choose: { title: "Choose", fields: ["text", "choices"], example: { text: "Somebody sits at the loom. The weaver", choices: "lifts the threads.\neats the train.\nis a card." },
    body: ({ text, choices }) => ({ inputs: { prompt: text, choices: linesOf(choices) } }) },
  "fill-mask": { title: "Fill gaps", fields: ["gapped"], example: { gapped: "The weaver sat at the ___ all day." },
    body: ({ gapped }, card) => ({ inputs: gapped.replaceAll(/_{2,}/g, card.mask_token ?? "[MASK]") }) },
  restore: { title: "Restore", fields: ["text"], example: { text: LOOM.toLowerCase().replaceAll(/[.,]/g, "") }, body: ({ text }) => ({ inputs: text }) },
  generate: { title: "Continue", fields: ["text"], example: { text: "The weaver sat down and" }, body: ({ text }) => ({ inputs: text }) },
  embed: { title: "Compare", fields: ["lines"], example: { lines: "the weaver sits at the loom\nsomebody is making cloth\nthe train leaves at noon" },
    body: ({ lines }) => ({ inputs: linesOf(lines) }) },
};

const FIELDS = {
  text: { label: "Text", rows: 7 },
  context: { label: "Text", rows: 8 },
  translation: { label: "Its translation", rows: 4 },
  choices: { label: "Choices", rows: 4, note: "Two at least, one a line." },
  question: { label: "Question", rows: 0 },
  gapped: { label: "Text with gaps", rows: 4, note: "Write ___ where a word is missing." },
  lines: { label: "Texts", rows: 5, note: "One a line." },
  source: { label: "From", rows: 0, placeholder: "the model's own", small: true },
  target: { label: "To", rows: 0, placeholder: "the model's own", small: true },
};

function linesOf(text) {
  return text.split("\n").map((line) => line.trim()).filter((line) => line !== "");
}

function titleOf(task) {
  return TASKS[task]?.title ?? task;
}

function addressOf(model, task) {
  return `#/models/${encodeURIComponent(model)}/${encodeURIComponent(task)}`;
}

// The tasks that this page knows, in its order: those that every model has stand last.
function ordered(tasks) {
  return Object.keys(TASKS).filter((task) => tasks.includes(task));
}

function listOf(models) {
  return element("ul", { class: "models" }, models.map((model) => element("li", {},
    element("h2", {}, element("a", { href: addressOf(model.id, ordered(model.tasks)[0] ?? "") }, model.id)),
    element("small", {}, model.kind),
    element("ul", { class: "chips", "aria-label": `Tasks of ${model.id}` }, ordered(model.tasks).map((task) =>
      element("li", {}, element("a", { href: addressOf(model.id, task) }, titleOf(task))))))));
}

function factRows(model, card) {
  const rows = [["Kind", model.kind], ["Family", card.model_type], ["Layers", card.layers], ["Width", card.width], ["Heads", card.heads],
    ["Vocabulary", card.vocabulary], ["Positions", card.maximum_length],
    ["Labels", card.labels?.join(", ")], ["Languages", card.languages?.join(", ")], ["Licence", card.license],
    ["Weights", card.weight_bytes === undefined ? undefined : scaled(card.weight_bytes, "B")]];
  return rows.filter(([, value]) => value !== undefined && value !== null && value !== "")
    .map(([name, value]) => [element("dt", {}, name), element("dd", {}, typeof value === "number" ? number(value) : value)]);
}

// Strong words, code and the words of links.
function inline(text) {
  return text.split(/(\*\*[^*]+\*\*|`[^`]+`|!?\[[^\]]*\]\([^)]*\))/).map((piece) => {
    if (/^\*\*.+\*\*$/.test(piece)) return element("strong", {}, piece.slice(2, -2));
    if (/^`.+`$/.test(piece)) return element("code", {}, piece.slice(1, -1));
    const link = /^(!?)\[([^\]]*)\]\([^)]*\)$/.exec(piece);
    if (link) return link[1] ? "" : link[2];
    return piece;
  });
}

// Headings, lists, tables as they are written, and paragraphs.
function readme(text) {
  const parts = [];
  let paragraph = [];
  let list = null;
  const flush = () => {
    if (paragraph.length > 0) {
      const rows = paragraph[0].startsWith("|");
      parts.push(element(rows ? "pre" : "p", {}, rows ? paragraph.join("\n") : inline(paragraph.join(" "))));
    }
    paragraph = [];
    list = null;
  };
  for (const piece of text.split(/^(```[^\n]*\n[\s\S]*?^```)/m)) {
    if (piece.startsWith("```")) {
      flush();
      parts.push(element("pre", {}, piece.replace(/^```[^\n]*\n/, "").replace(/\n?```$/, "")));
      continue;
    }
    for (const line of piece.split("\n")) {
      const heading = /^#{1,6}\s+(.*)$/.exec(line);
      const item = /^\s*[-*]\s+(.*)$/.exec(line);
      if (heading) {
        flush();
        parts.push(element("h3", {}, inline(heading[1])));
      } else if (item) {
        if (!list) {
          flush();
          list = element("ul", {});
          parts.push(list);
        }
        list.append(element("li", {}, inline(item[1])));
      } else if (line.trim() === "") {
        flush();
      } else {
        if (list) flush();
        paragraph.push(line.trim());
      }
    }
  }
  flush();
  return element("section", { class: "readme", tabindex: "0", "aria-label": "Description" }, parts);
}

function cardOf(model, card) {
  return element("aside", { class: "card", "aria-label": "About the model" }, element("h2", {}, "About the model"), element("dl", {}, factRows(model, card)),
    card.readme ? readme(card.readme) : null);
}

function controlOf(name) {
  const { label, rows, note, placeholder } = FIELDS[name];
  const control = rows > 0 ? element("textarea", { name, rows, required: true }) : element("input", { name, placeholder, required: !placeholder, autocomplete: "off" });
  return { control, field: labelled(label, control, note) };
}

function formOf(model, task, card) {
  const about = TASKS[task];
  const controls = {};
  const [large, small] = [[], []];
  for (const name of about.fields) {
    const { control, field } = controlOf(name);
    controls[name] = control;
    (FIELDS[name].small ? small : large).push(field);
  }
  const button = element("button", {}, titleOf(task));
  const result = element("div", { "aria-live": "polite" });
  let running = null;
  const run = async (event) => {
    event.preventDefault();
    running?.abort();
    running = new AbortController();
    const { signal } = running;
    const given = Object.fromEntries(Object.entries(controls).map(([name, control]) => [name, control.value]));
    if (given.lines !== undefined) given.texts = linesOf(given.lines);
    button.disabled = true;
    result.replaceChildren(element("p", { class: "busy" }, "The model reads …"));
    const since = performance.now();
    try {
      const answer = await ask(`/v1/models/${encodeURIComponent(model.id)}/${encodeURIComponent(task)}`, about.body(given, card), signal);
      const seconds = ((performance.now() - since) / 1000).toFixed(2);
      result.replaceChildren(element("div", { class: "result" }, resultOf(task, answer, given), element("p", { class: "soft" }, `Answered in ${seconds} s.`)));
      announce("The answer is there.");
    } catch (error) {
      if (!signal.aborted) result.replaceChildren(alertOf(error.message));
    } finally {
      button.disabled = false;
    }
  };
  const example = element("button", { type: "button", class: "quiet", onclick: () => {
    for (const [name, text] of Object.entries(about.example)) controls[name].value = text;
  } }, "Take an example");
  const form = element("form", { onsubmit: run, onkeydown: (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
  } }, large, small.length > 0 ? element("div", { class: "fields" }, small) : null, element("div", { class: "actions" }, button, example));
  return element("div", {}, form, result);
}

async function showModel(room, model, task) {
  const card = await ask(`/v1/models/${encodeURIComponent(model.id)}`);
  const tasks = ordered(model.tasks);
  const chosen = tasks.includes(task) ? task : tasks[0];
  document.title = `${model.id} · Weft`;
  room.append(element("h1", {}, model.id),
    element("nav", { "aria-label": "Tasks" }, element("ul", { class: "chips" },
      tasks.map((one) => element("li", {}, element("a", { href: addressOf(model.id, one), "aria-current": one === chosen ? "page" : false }, titleOf(one)))),
      model.attention ? element("li", {}, element("a", { href: `#/attention/${encodeURIComponent(model.id)}` }, "See its attention")) : null)),
    element("div", { class: "two below" }, chosen ? formOf(model, chosen, card) : element("p", {}, "This page knows none of the model's tasks."), cardOf(model, card)));
}

export async function showModels(room, [name, task]) {
  const models = await servedModels();
  if (name === undefined && models.length !== 1) {
    room.append(element("h1", {}, "Models"), element("p", { class: "lead" }, "Try them on texts of your own. Nothing that you write here leaves the server."), listOf(models));
    return;
  }
  const model = models.find((one) => one.id === (name ?? models[0].id));
  if (!model) {
    room.append(alertOf(`No model here has the name “${name}”.`), listOf(models));
    return;
  }
  await showModel(room, model, task);
}
