// SPDX-License-Identifier: Apache-2.0
// Settings of a task as controls, with the bounds and defaults that the server's schema gives. A request names those alone
// that a person changed: the others stay the model's own.
import { element, labelled } from "./elements.js";

// The schema's type; of a number its bounds are those of the control. A default of -1 means that another setting decides.
function controlOf(schema, start) {
  if (schema.type === "boolean") return element("input", { type: "checkbox", checked: start });
  const none = schema.type === "integer" && start < 0;
  const bound = (value) => (Number.isSafeInteger(value) || !Number.isInteger(value) ? value : undefined);
  return element("input", { type: "number", required: !none, placeholder: none ? "the model's own" : undefined, value: none ? "" : String(start),
    min: none ? 1 : bound(schema.minimum), max: bound(schema.maximum), step: schema.type === "integer" ? 1 : "any", autocomplete: "off" });
}

function fieldOf({ label, note }, control) {
  const field = labelled(label, control, note);
  if (control.type === "checkbox") {
    field.classList.add("tick");
    field.prepend(control);
  }
  return field;
}

// Where several texts are tried side by side nothing is drawn; where nothing is drawn its settings say nothing.
function fit(controls, settings) {
  const beams = Number(controls.get("num_beams")?.value ?? 1) > 1;
  const chance = controls.get("do_sample");
  if (chance) chance.disabled = beams;
  for (const { name, draws } of settings) {
    if (draws && controls.has(name)) controls.get(name).disabled = beams || (chance && !chance.checked);
  }
}

/// `node` is null where there is nothing to set. `given()` are the parameters of a request, `pieces()` whether its answer comes piece by piece.
export function settingsOf(settings, schemas) {
  const shown = settings.filter(({ name }) => Object.hasOwn(schemas, name));
  const controls = new Map(shown.map(({ name, start }) => [name, controlOf(schemas[name], start ?? schemas[name].default)]));
  const given = () => {
    const parameters = {};
    for (const [name, control] of controls) {
      const value = control.type === "checkbox" ? control.checked : control.value === "" ? undefined : Number(control.value);
      if (!control.disabled && value !== undefined && value !== schemas[name].default) parameters[name] = value;
    }
    return parameters;
  };
  const pieces = () => Number(controls.get("num_beams")?.value ?? 1) <= 1;
  if (shown.length === 0) return { node: null, given, pieces };
  const fields = shown.map((one) => fieldOf(one, controls.get(one.name)));
  const node = element("details", { class: "settings" }, element("summary", {}, "Settings"), element("div", { class: "fields" }, fields));
  node.addEventListener("input", () => fit(controls, shown));
  node.addEventListener("invalid", () => { node.open = true; }, true); // a browser cannot point at what is folded away
  fit(controls, shown);
  return { node, given, pieces };
}
