// SPDX-License-Identifier: Apache-2.0
// One task of a model to try: its form, and the answer, which grows while it comes and can be stopped.
import { alertOf, announce, element, labelled } from "./elements.js";
import { endOf, growing, resultOf } from "./results.js";
import { ask, askInPieces, parametersOf } from "./server.js";
import { settingsOf } from "./settings.js";
import { FIELDS, linesOf, taskOf } from "./tasks.js";
import { Watch } from "./watch.js";

function controlOf(name) {
  const { label, rows, note, placeholder } = FIELDS[name];
  const control = rows > 0 ? element("textarea", { name, rows, required: true }) : element("input", { name, placeholder, required: !placeholder, autocomplete: "off" });
  return { control, field: labelled(label, control, note) };
}

// Fills `control` with the text of a file, which stays on this machine until the form is sent.
function fromFile(label, control) {
  const file = element("input", { type: "file", accept: "text/*", onchange: async () => {
    if (file.files.length > 0) control.value = await file.files[0].text();
  } });
  return labelled(label, file);
}

class Trial {
  constructor(model, task, card, settings) {
    Object.assign(this, { model, task, card, settings, about: taskOf(task), running: null, controls: {} });
    this.path = `/v1/models/${encodeURIComponent(model.id)}/${encodeURIComponent(task)}`;
    this.watch = new Watch(this.about.title, () => this.running?.abort("stopped"));
    this.result = element("div", { "aria-live": "polite" });
  }

  draw() {
    const [large, small] = [[], []];
    for (const name of this.about.fields) {
      const { control, field } = controlOf(name);
      this.controls[name] = control;
      (FIELDS[name].small ? small : large).push(field);
      if (FIELDS[name].file) large.push(fromFile(FIELDS[name].file, control));
    }
    const example = element("button", { type: "button", class: "quiet", onclick: () => {
      for (const [name, text] of Object.entries(this.about.example)) this.controls[name].value = text;
    } }, "Take an example");
    const form = element("form", { onsubmit: (event) => this.run(event), onkeydown: (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && !this.running) form.requestSubmit();
      if (event.key === "Escape") this.running?.abort("stopped");
    } }, large, small.length > 0 ? element("div", { class: "fields" }, small) : null, this.settings.node,
      element("div", { class: "actions" }, this.watch.start, this.watch.stop, example));
    return element("div", {}, element("p", { class: "lead" }, this.about.about), form, this.watch.line, this.result);
  }

  given() {
    const given = Object.fromEntries(Object.entries(this.controls).map(([name, control]) => [name, control.value]));
    if (given.lines !== undefined) given.texts = linesOf(given.lines);
    return given;
  }

  bodyOf(given) {
    const body = this.about.body(given, this.card);
    const parameters = { ...body.parameters, ...this.settings.given() };
    return Object.keys(parameters).length > 0 ? { ...body, parameters } : body;
  }

  async run(event) {
    event.preventDefault();
    this.running?.abort("again");
    const running = new AbortController();
    this.running = running;
    const given = this.given();
    const grows = this.about.pieces && this.settings.pieces() ? growing(this.task, given) : null;
    this.result.setAttribute("aria-busy", "true"); // a screen reader reads the answer once it is whole
    this.result.replaceChildren();
    this.watch.run();
    try {
      const answer = await this.asked(this.bodyOf(given), grows, running.signal);
      this.shows(grows?.ended(answer) ?? resultOf(this.task, answer, given), `Answered in ${this.watch.passed().toFixed(2)} s. ${endOf(answer)}`);
      announce("The answer is there.");
    } catch (error) {
      if (running !== this.running) return; // another run has the place
      grows?.settle();
      if (!running.signal.aborted) this.fails(error, grows);
      else if (running.signal.reason === "stopped") this.stops(grows);
    } finally {
      if (running === this.running) {
        this.running = null;
        this.watch.end();
        this.result.removeAttribute("aria-busy");
      }
    }
  }

  // The whole answer. What came of it until then is shown, from the first piece on.
  async asked(body, grows, signal) {
    if (!grows) return ask(this.path, body, signal);
    const coming = element("div", { class: "coming" }, grows.node);
    return askInPieces(this.path, body, signal, (piece) => {
      if (signal.aborted) return;
      if (!coming.isConnected) this.result.replaceChildren(coming);
      this.watch.tell(grows.take(piece));
    });
  }

  shows(node, note) {
    const place = node.parentElement ?? element("div", {}, node); // what grew stays where it is
    place.className = "result";
    place.append(element("p", { class: "soft" }, note));
    if (!place.isConnected) this.result.replaceChildren(place);
  }

  stops(grows) {
    if (grows?.begun()) this.shows(grows.node, `Stopped after ${this.watch.passed().toFixed(1)} s. This is what was written until then.`);
    else this.result.replaceChildren(element("p", { class: "soft" }, "Stopped."));
    announce("Stopped.");
  }

  fails(error, grows) {
    this.result.replaceChildren(alertOf(error.message), ...(grows?.begun() ? [element("div", { class: "coming" }, grows.node)] : []));
  }
}

/// The form of `task`, whose requests end when `left` says that the view was left.
export async function trialOf(model, task, card, left) {
  const { settings = [] } = taskOf(task);
  const schemas = settings.length > 0 ? await parametersOf(model.id, task) : {};
  const trial = new Trial(model, task, card, settingsOf(settings, schemas));
  left.addEventListener("abort", () => trial.running?.abort("left"));
  return trial.draw();
}
