// SPDX-License-Identifier: Apache-2.0
// What a model's directory, or a store, says of it: facts of its settings, each with what it means, and its description.
import { element, number, scaled } from "./elements.js";
import { KINDS } from "./tasks.js";

function factRows(model, card) {
  const rows = [["Kind", KINDS.get(model.kind) ?? model.kind],
    ["Family", card.model_type, "the design that the model follows"],
    ["Layers", card.layers, "the steps that a text goes through, one after the other"],
    ["Width", card.width, "the numbers that stand for a token within the model"],
    ["Heads", card.heads, "the places that each layer can look at side by side"],
    ["Vocabulary", card.vocabulary, "the tokens that the model knows: words, and parts of words"],
    ["Positions", card.maximum_length, "the tokens of the longest text, special ones included"],
    ["Labels", card.labels?.join(", "), "what the model can say of a text or of a word"],
    ["Texts", card.texts], ["Passages", card.passages, "the parts of texts that a search lists"],
    ["Languages", card.languages?.join(", ")], ["Licence", card.license],
    ["Weights", card.weight_bytes === undefined ? undefined : scaled(card.weight_bytes, "B"), "the size of what the model learned"]];
  return rows.filter(([, value]) => value !== undefined && value !== null && value !== "")
    .map(([name, value, meaning]) => [element("dt", {}, name),
      element("dd", {}, typeof value === "number" ? number(value) : value, meaning ? element("small", {}, meaning) : null)]);
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

/// What stands beside the tasks of a model.
export function cardOf(model, card) {
  return element("aside", { class: "card", "aria-label": "About the model" }, element("h2", {}, "About the model"), element("dl", {}, factRows(model, card)),
    card.readme ? readme(card.readme) : null);
}
