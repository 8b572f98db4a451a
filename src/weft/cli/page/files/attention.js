// SPDX-License-Identifier: Apache-2.0
// Where a served model looks while it reads a text. viewer.js, which `weft attention` puts into its pages, draws it.
import { alertOf, announce, element, labelled } from "./elements.js";
import { ask, servedModels } from "./server.js";

const EXAMPLE = "The weaver threads the loom, and the loom weaves the thread into cloth.";

// The elements that viewer.js looks for, by their ids.
function stage() {
  const measure = element("select", { id: "measure" }, element("option", { value: "mean" }, "the mean, in shares of an even row"),
    element("option", { value: "largest" }, "the largest weight"));
  return [
    element("div", { id: "grid", role: "group", "aria-label": "heads" }),
    element("p", { id: "about", "aria-live": "polite" }),
    element("fieldset", {}, element("legend", { class: "unseen" }, "How it is shown"), element("label", {}, "Cells show", measure),
      element("label", {}, element("input", { type: "checkbox", id: "sinks" }), "hide sinks"),
      element("label", {}, "row", element("input", { type: "number", id: "position", min: "0", value: "0" }))),
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

export async function showAttention(room, [name]) {
  const models = (await servedModels()).filter((model) => model.attention);
  room.append(element("h1", {}, "Attention"),
    element("p", { class: "lead" }, "Where each head looks while the model reads. Texts of any length that the model takes: long ones are drawn in cells of several tokens."));
  if (models.length === 0) {
    room.append(element("p", {}, "None of the models served here can show its attention: it reads several texts at once."));
    return;
  }
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
    second.querySelector("label").textContent = SECOND[kind] ?? "Second text";
    second.hidden = !(kind in SECOND);
    controls.second.disabled = second.hidden;
    controls.second.required = kind === "encoder-decoder";
  };
  controls.model.addEventListener("change", fit);
  fit();
  const button = element("button", {}, "Show it");
  const result = element("div", {});
  let running = null;
  const run = async (event) => {
    event?.preventDefault();
    running?.abort();
    running = new AbortController();
    const { signal } = running;
    button.disabled = true;
    result.replaceChildren(element("p", { class: "busy" }, "The model reads …"));
    try {
      const data = await ask(`/v1/models/${encodeURIComponent(controls.model.value)}/attention`, requestOf(controls), signal);
      if (!room.isConnected) return;
      result.replaceChildren(element("div", { class: "result" }, data.unseen.map((line) => element("p", { class: "soft" }, line)), stage()));
      window.showHeads(data);
      announce("The heads are drawn.");
    } catch (error) {
      if (!signal.aborted) result.replaceChildren(alertOf(error.message));
    } finally {
      button.disabled = false;
    }
  };
  room.append(element("form", { onsubmit: run },
    models.length > 1 ? labelled("Model", controls.model) : null,
    labelled("Text", controls.text), second,
    element("details", {}, element("summary", {}, "More"), element("div", { class: "fields" },
      labelled("Layers", controls.layers, "From 0, as in 0, 3."), labelled("Heads", controls.heads, "Of each layer."))),
    element("div", { class: "actions" }, button)), result);
}
