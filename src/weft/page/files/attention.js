// SPDX-License-Identifier: Apache-2.0
// Where a served model looks while it reads a text. viewer.js, which `weft attention` puts into its pages, draws it.
import { alertOf, announce, element, labelled } from "./elements.js";
import { ask, servedModels } from "./server.js";
import { Watch } from "./watch.js";

const EXAMPLE = "The weaver threads the loom, and the loom weaves the thread into cloth.";

// The elements that viewer.js looks for, by their ids: those of page.cpp.
function stage() {
  const measure = element("select", { id: "measure" }, element("option", { value: "mean" }, "the average of a cell"),
    element("option", { value: "largest" }, "the strongest of a cell"));
  return [
    element("p", { class: "soft" }, "Each small picture is a head: one of the places that a layer can look at side by side. A row is a token that looks (a query), a column one that is ",
      "looked at (a key). The colour is strong where much attention goes, and each picture has its own scale. Choose one to see it large."),
    element("div", { id: "grid", role: "group", "aria-label": "heads" }),
    element("p", { id: "about", "aria-live": "polite" }),
    element("fieldset", {}, element("legend", { class: "unseen" }, "How it is shown"), element("label", {}, "Colours show", measure),
      element("label", { title: "Keys that nearly all rows look at, whatever they say. Beside them all else is faint." }, element("input", { type: "checkbox", id: "sinks" }), "hide keys that get most of all attention (sinks)"),
      element("label", {}, "Row", element("input", { type: "number", id: "position", min: "0", value: "0" }))),
    element("div", { id: "head" },
      element("div", {}, element("canvas", { id: "large", tabindex: "0", role: "img", "aria-label": "queries from top to bottom, keys from left to right; arrow keys choose a row" }),
        element("p", { id: "cell" })),
      element("div", { id: "row", "aria-live": "polite" })),
  ];
}

// "0, 3" as numbers; what is no number is told.
function numbers(text, what) {
  const words = text.split(/[\s,]+/).filter((word) => word !== "");
  if (words.some((word) => !/^\d{1,6}$/.test(word))) throw new Error(`${what} are numbers, as in 0, 3.`);
  return words.map(Number);
}

// What the second text is, by the kind of the model; nothing where it reads one alone.
const SECOND = { encoder: "Second text, for models of pairs", "encoder-decoder": "Target: the text that the model is made to write" };

function requestOf(controls) {
  const second = controls.second.disabled ? "" : controls.second.value.trim();
  const parameters = {};
  for (const name of ["layers", "heads"]) {
    const list = numbers(controls[name].value, name === "layers" ? "Layers" : "Heads");
    if (list.length > 0) parameters[name] = list;
  }
  return { inputs: second ? { text: controls.text.value, text_pair: controls.second.value } : controls.text.value, parameters };
}

export async function showAttention(room, [name], _query, left) {
  const models = (await servedModels()).filter((model) => model.attention);
  room.append(element("h1", {}, "Attention"),
    element("p", { class: "lead" }, "Where the model looks while it reads a text. Long texts are drawn in cells of several tokens (words, or parts of words)."));
  if (models.length === 0) {
    room.append(element("p", {}, "None of the models served here can show its attention."));
    return;
  }
  if (name !== undefined && !models.some((model) => model.id === name)) room.append(alertOf(`No model here has the name “${name}” and can show its attention.`));
  const controls = {
    model: element("select", {}, models.map((model) => element("option", { value: model.id, selected: model.id === name }, model.id))),
    text: element("textarea", { rows: 4, required: true, value: EXAMPLE }),
    second: element("input", { autocomplete: "off" }),
    layers: element("input", { placeholder: "all", inputmode: "numeric", autocomplete: "off" }),
    heads: element("input", { placeholder: "all", inputmode: "numeric", autocomplete: "off" }),
  };
  const second = labelled("", controls.second);
  const fit = () => {
    const { kind } = models.find((model) => model.id === controls.model.value);
    second.hidden = !Object.hasOwn(SECOND, kind);
    second.querySelector("label").textContent = second.hidden ? "Second text" : SECOND[kind];
    controls.second.disabled = second.hidden;
    controls.second.required = kind === "encoder-decoder";
  };
  controls.model.addEventListener("change", fit);
  fit();
  let running = null;
  const watch = new Watch("Show it", () => running?.abort("stopped"));
  left.addEventListener("abort", () => running?.abort());
  const result = element("div", {});
  const run = async (event) => {
    event?.preventDefault();
    running?.abort();
    const mine = new AbortController();
    running = mine;
    result.replaceChildren();
    watch.run();
    try {
      const data = await ask(`/v1/models/${encodeURIComponent(controls.model.value)}/attention`, requestOf(controls), mine.signal);
      if (mine.signal.aborted) return;
      result.replaceChildren(element("div", { class: "result" }, data.unseen.map((line) => element("p", { class: "soft" }, line)), stage()));
      window.showHeads(data);
      announce("The heads are drawn.");
    } catch (error) {
      if (!mine.signal.aborted) result.replaceChildren(alertOf(error.message));
      else if (mine.signal.reason === "stopped") result.replaceChildren(element("p", { class: "soft" }, "Stopped."));
    } finally {
      if (mine === running) watch.end();
    }
  };
  room.append(element("form", { onsubmit: run },
    models.length > 1 ? labelled("Model", controls.model) : null,
    labelled("Text", controls.text), second,
    element("details", {}, element("summary", {}, "More"), element("div", { class: "fields" },
      labelled("Layers", controls.layers, "From 0, as in 0, 3."), labelled("Heads", controls.heads, "Of each layer."))),
    element("div", { class: "actions" }, watch.start, watch.stop)), watch.line, result);
}
