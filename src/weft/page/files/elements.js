// SPDX-License-Identifier: Apache-2.0
// Elements by one call each. Text from elsewhere only ever becomes text: nothing here reads HTML.

/// element("p", {class: "note", onclick: f}, "text", child): true is an attribute without a value, false and null are none.
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (key === "value") made.value = value;
    else made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.flat(2).filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}

let count = 0;

/// A label above its control; `control` gets an id.
export function labelled(text, control, note = null) {
  control.id ||= `control-${++count}`;
  if (note) {
    const about = element("small", { id: `${control.id}-note` }, note);
    control.setAttribute("aria-describedby", about.id);
    return element("div", { class: "field" }, element("label", { for: control.id }, text), control, about);
  }
  return element("div", { class: "field" }, element("label", { for: control.id }, text), control);
}

/// A failure in the place where its answer would have been.
export function alertOf(message) {
  return element("p", { class: "alert", role: "alert" }, message);
}

/// Says something to a screen reader.
export function announce(text) {
  document.getElementById("status").textContent = text;
}

/// A button that copies what `text` gives when it is pressed.
export function copyButton(text, label = "Copy") {
  const button = element("button", { type: "button", class: "quiet", onclick: async () => {
    try {
      await navigator.clipboard.writeText(text());
      button.textContent = "Copied";
    } catch {
      button.textContent = "This browser does not let pages copy";
    }
    setTimeout(() => { button.textContent = label; }, 2000);
  } }, label);
  return button;
}

/// A bar for a share from 0 to 1. The figure beside it says the same, so that it is silent.
export function bar(share, kind = "") {
  const inner = element("span", {});
  inner.style.width = `${Math.max(0, Math.min(1, share)) * 100}%`;
  return element("span", { class: `bar ${kind}`, "aria-hidden": "true" }, inner);
}

/// 1234567 as 1,234,567; few digits where a number is no whole one.
export function number(value, digits = 3) {
  if (value === null || value === undefined) return "not known";
  return Number.isInteger(value) ? value.toLocaleString("en") : Number(value.toPrecision(digits)).toLocaleString("en", { maximumSignificantDigits: digits });
}

export function percent(share) {
  if (share === 0 || share === 1) return `${100 * share}%`;
  return `${Number((100 * share).toPrecision(share < 0.1 ? 2 : 3))}%`;
}

/// "1 layer", "2 layers".
export function counted(count, name) {
  return `${number(count)} ${name}${count === 1 ? "" : "s"}`;
}

/// 1.5e9 as "1.5 G" and the unit.
export function scaled(value, unit) {
  const steps = ["", "k", "M", "G", "T", "P", "E"];
  let step = 0;
  let rest = value;
  while (rest >= 1000 && step < steps.length - 1) {
    rest /= 1000;
    ++step;
  }
  return `${Number(rest.toPrecision(3))} ${steps[step]}${unit}`;
}
