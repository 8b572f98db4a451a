// SPDX-License-Identifier: Apache-2.0
// The models that are served: a card of each, and its tasks to try on a text of one's own.
import { alertOf, element } from "./elements.js";
import { cardOf } from "./card.js";
import { ask, servedModels } from "./server.js";
import { KINDS, ordered, taskOf } from "./tasks.js";
import { trialOf } from "./trial.js";

function addressOf(model, task) {
  return `#/models/${encodeURIComponent(model)}/${encodeURIComponent(task)}`;
}

function linkOf(model, task, current = false) {
  const { title, about } = taskOf(task);
  return element("li", {}, element("a", { href: addressOf(model.id, task), title: about, "aria-current": current ? "page" : false }, title));
}

function listOf(models) {
  return element("ul", { class: "models" }, models.map((model) => element("li", {},
    element("h2", {}, element("a", { href: addressOf(model.id, ordered(model.tasks)[0] ?? "") }, model.id)),
    element("small", {}, KINDS.get(model.kind) ?? model.kind),
    element("ul", { class: "chips", "aria-label": `Tasks of ${model.id}` }, ordered(model.tasks).map((task) => linkOf(model, task))))));
}

async function showModel(room, model, task, left) {
  const card = await ask(`/v1/models/${encodeURIComponent(model.id)}`, undefined, left);
  const tasks = ordered(model.tasks);
  const chosen = tasks.includes(task) ? task : tasks[0];
  document.title = `${model.id} · Weft`;
  room.append(element("h1", {}, model.id),
    element("nav", { "aria-label": "Tasks" }, element("ul", { class: "chips" }, tasks.map((one) => linkOf(model, one, one === chosen)),
      model.attention ? element("li", {}, element("a", { href: `#/attention/${encodeURIComponent(model.id)}`, title: "Where the model looks while it reads a text." }, "See its attention")) : null)));
  if (task !== undefined && task !== chosen) room.append(alertOf(`${model.id} has no task “${task}” that this page knows.`));
  room.append(element("div", { class: "two below" },
    chosen ? await trialOf(model, chosen, card, left) : element("p", {}, "This page knows none of the model's tasks."), cardOf(model, card)));
}

export async function showModels(room, [name, task], _query, left) {
  const models = await servedModels();
  if (name === undefined && models.length !== 1) {
    room.append(element("h1", {}, "Models"), element("p", { class: "lead" }, "Try them on texts of your own. Nothing that you write here leaves the server."), listOf(models));
    return;
  }
  const model = models.find((one) => one.id === (name ?? models[0].id));
  if (!model) {
    room.append(element("h1", {}, "Models"), alertOf(`No model here has the name “${name}”.`), listOf(models));
    return;
  }
  await showModel(room, model, task, left);
}
