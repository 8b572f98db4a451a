// SPDX-License-Identifier: Apache-2.0
// What the page knows of each task: what it is called and does, what a person gives for it, and how a request is made of that.

const LOOM = "The Jacquard loom was shown in Lyon in 1804. Joseph Marie Jacquard, a weaver and merchant, built it from ideas of Basile Bouchon and " +
  "Jacques de Vaucanson. Cards with holes told the loom which threads to lift, so that one weaver could make patterns that had needed two before.";

const TASKS = new Map(Object.entries({
  translate: { title: "Translate", about: "The model writes a text in another language, sentence by sentence.", pieces: true,
    fields: ["text", "source", "target"], example: { text: "Hello! How are you today?" },
    body: ({ text, source, target }) => ({ text, ...(source && { source_lang: source }), ...(target && { target_lang: target }) }) },
  summarize: { title: "Summarise", about: "The model reads a text and writes a shorter one.", pieces: true,
    fields: ["text"], example: { text: LOOM }, body: ({ text }) => ({ inputs: text }),
    settings: [{ name: "truncation", label: "Cut a text that is too long", note: "Without it, such a text is refused." }] },
  rerank: { title: "Rank texts", about: "The model says how well each text answers a query, the best first.",
    fields: ["query", "lines"], example: { query: "Who made the cloth?", lines: "The weaver sat at the loom all day.\nInterest rates rose again.\nCloth is made of threads." },
    body: ({ query, lines }) => ({ query, texts: linesOf(lines) }) },
  search: { title: "Search", about: "The passages of your texts that answer a question, the best first.",
    fields: ["query"], example: { query: "Who built the loom?" }, body: ({ query }) => ({ query }) },
  classify: { title: "Classify", about: "The model says how well each of its labels fits a text.",
    fields: ["text"], example: { text: "The plot is thin, but the weaving scenes are a delight." }, body: ({ text }) => ({ inputs: text }),
    settings: [{ name: "truncation", label: "Cut a text that is too long", note: "Without it, such a text is refused." }] },
  tag: { title: "Find names", about: "The model marks the names, places and other things that it knows in a text.",
    fields: ["text"], example: { text: LOOM }, body: ({ text }) => ({ inputs: text }) },
  answer: { title: "Answer a question", about: "The model looks for the answer in a text, and shows where it stands.",
    fields: ["question", "context"], example: { question: "What told the loom which threads to lift?", context: LOOM },
    body: ({ question, context }) => ({ inputs: { question, context } }),
    settings: [{ name: "top_k", label: "Answers to list", start: 3 },
      { name: "max_answer_len", label: "Longest answer", note: "In tokens, which are words or parts of words." },
      { name: "handle_impossible_answer", label: "The text may not say it", note: "For models that learned to say so." }] },
  align: { title: "Align words", about: "The model shows which words of a text and of its translation belong together.",
    fields: ["text", "translation", "target"], example: { text: "The weaver sits at the loom.", translation: "Der Weber sitzt am Webstuhl." },
    body: ({ text, translation, target }) => ({ inputs: { text, text_pair: translation }, parameters: target ? { tgt_lang: target } : {} }) },
  choose: { title: "Choose an ending", about: "The model says which of several endings goes best with a beginning.",
    fields: ["beginning", "choices"], example: { beginning: "Somebody sits at the loom. The weaver", choices: "lifts the threads.\neats the train.\nis a card." },
    body: ({ beginning, choices }) => ({ inputs: { prompt: beginning, choices: linesOf(choices) } }) },
  "fill-mask": { title: "Fill gaps", about: "The model guesses the words that are missing in a text.",
    fields: ["gapped"], example: { gapped: "The weaver sat at the ___ all day." },
    body: ({ gapped }, card) => ({ inputs: gapped.replaceAll(/_{2,}/g, card.mask_token ?? "[MASK]") }),
    settings: [{ name: "top_k", label: "Words to list" }] },
  restore: { title: "Restore punctuation", about: "The model puts capitals and punctuation back into bare words.",
    fields: ["text"], example: { text: LOOM.toLowerCase().replaceAll(/[.,]/g, "") }, body: ({ text }) => ({ inputs: text }) },
  generate: { title: "Continue a text", about: "The model writes on where a text ends, one token (a word, or a part of one) after the other.", pieces: true,
    fields: ["text"], example: { text: "The weaver sat down and" }, body: ({ text }) => ({ inputs: text }),
    settings: [{ name: "max_new_tokens", label: "New tokens at most" },
      { name: "do_sample", label: "Draw each token by chance", note: "Otherwise the likeliest is taken." },
      { name: "temperature", label: "Temperature", note: "Below 1 the text keeps to what is likely, above 1 it strays.", draws: true },
      { name: "top_k", label: "Top k", note: "Draw among so many likeliest tokens; 0: all.", draws: true },
      { name: "top_p", label: "Top p", note: "Draw among the likeliest that have this probability together.", draws: true },
      { name: "seed", label: "Seed", note: "The same number draws the same text.", draws: true },
      { name: "num_beams", label: "Beams", note: "Texts that are tried side by side. With more than 1 nothing is drawn, and the text comes at its end." }] },
  embed: { title: "Compare meanings", about: "The model turns each text into numbers, which are alike where it takes the texts for alike.",
    fields: ["lines"], example: { lines: "the weaver sits at the loom\nsomebody is making cloth\nthe train leaves at noon" },
    body: ({ lines }) => ({ inputs: linesOf(lines) }) },
}));

/// Fields of a form by name. Those with 0 rows are lines; small ones stand beside each other; `file` names a control that fills one from a file.
export const FIELDS = {
  text: { label: "Text", rows: 7 },
  beginning: { label: "Beginning", rows: 3 },
  context: { label: "Text", rows: 8 },
  translation: { label: "Its translation", rows: 4 },
  choices: { label: "Endings", rows: 4, note: "Two at least, one a line." },
  question: { label: "Question", rows: 0 },
  gapped: { label: "Text with gaps", rows: 4, note: "Write ___ where a word is missing." },
  query: { label: "Query", rows: 0 },
  lines: { label: "Texts", rows: 5, note: "One a line.", file: "Texts from a file" },
  source: { label: "From", rows: 0, placeholder: "the model's own", note: "The code of a language, such as en.", small: true },
  target: { label: "To", rows: 0, placeholder: "the model's own", note: "Such as de.", small: true },
};

/// What a kind of model is, in words for somebody who has heard of none.
export const KINDS = new Map([
  ["encoder", "Reads texts (an encoder)"],
  ["decoder", "Writes on from a text (a decoder)"],
  ["encoder-decoder", "Reads a text and writes another (an encoder-decoder)"],
  ["store", "Finds passages of texts (a store)"],
]);

export function linesOf(text) {
  return text.split("\n").map((line) => line.trim()).filter((line) => line !== "");
}

/// What the page knows of a task; nothing of one that it does not know.
export function taskOf(task) {
  return TASKS.get(task);
}

/// The tasks that this page knows, in its order: those that every model has stand last.
export function ordered(tasks) {
  return [...TASKS.keys()].filter((task) => tasks.includes(task));
}
