// SPDX-License-Identifier: Apache-2.0
// The workbench: an expression, and at once what it connects and costs. What is shown can be shared: it is the address.
import { alertOf, announce, copyButton, element, labelled, number, percent } from "./elements.js";
import { figures } from "./figures.js";
import { legend, pictureCanvas } from "./picture.js";
import { ask } from "./server.js";

const WAIT = 180; // milliseconds after the last key
const FIRST = { e: "causal & (window(left=64) | global(8))", n: 512, h: 1, l: 6, i: "" };

function positions(text) {
  return text.split(/[\s,]+/).filter((word) => /^\d+$/.test(word)).map(Number);
}

function questionOf(state) {
  const question = { expression: state.e, length: state.n, heads: state.h, layers: state.l };
  if (positions(state.i).length > 0) question.input = positions(state.i);
  return question;
}

function stateOf(query) {
  const whole = (name, most) => {
    const value = Number(query.get(name));
    return Number.isInteger(value) && value >= 1 && value <= most ? value : FIRST[name];
  };
  return { e: query.get("e")?.slice(0, 4096) || FIRST.e, n: whole("n", 4096), h: whole("h", 16), l: whole("l", 24), i: query.get("i")?.slice(0, 2000) ?? "" };
}

function addressOf(state) {
  const query = new URLSearchParams({ e: state.e, n: state.n });
  if (state.h !== FIRST.h) query.set("h", state.h);
  if (state.l !== FIRST.l) query.set("l", state.l);
  if (state.i) query.set("i", state.i);
  return `#/patterns?${query}`;
}

// "pattern: MESSAGE", the line with a caret, and "at line 1, column 8".
function readProblem(message) {
  const place = /\n {2}at line (\d+), column (\d+)/.exec(message);
  const lines = message.split("\n");
  const first = lines[0].replace(/^pattern: /, "");
  if (!place) return { first, shown: "", place: null };
  const caret = lines.find((line) => /^ *\^~*$/.test(line)) ?? "";
  return { first, shown: lines.slice(1, -1).map((line) => line.slice(2)).join("\n"),
           place: { line: Number(place[1]), column: Number(place[2]), width: Math.max(1, caret.trim().length) } };
}

// Where a place of an error begins and ends in the text, in units of JavaScript's strings.
function spanOf(text, place) {
  const lines = text.split("\n");
  const before = lines.slice(0, place.line - 1).reduce((sum, line) => sum + line.length + 1, 0);
  const letters = [...(lines[place.line - 1] ?? "")];
  const begin = before + letters.slice(0, place.column - 1).join("").length;
  return [begin, begin + letters.slice(place.column - 1, place.column - 1 + place.width).join("").length];
}

class Workbench {
  constructor(state) {
    this.state = state;
    this.timer = 0;
    this.request = null;
    this.text = element("textarea", { id: "expression", rows: "3", spellcheck: "false", autocapitalize: "off", autocomplete: "off",
      maxlength: "4096", "aria-describedby": "problem", value: state.e, oninput: () => this.changed() });
    this.behind = element("pre", { "aria-hidden": "true" });
    this.length = element("select", { onchange: () => this.changed() },
      [64, 128, 256, 512, 1024, 2048, 4096].map((value) => element("option", { value }, String(value))));
    this.setLength(state.n);
    this.heads = element("input", { type: "number", min: "1", max: "16", value: state.h, oninput: () => this.changed() });
    this.layers = element("input", { type: "number", min: "1", max: "24", value: state.l, oninput: () => this.changed() });
    this.input = element("input", { value: state.i, placeholder: "0, 5", inputmode: "numeric", oninput: () => this.changed() });
    this.problem = element("div", { id: "problem", role: "alert" });
    this.picture = element("div", { class: "shown" });
    this.cell = element("p", { class: "soft", id: "under" }, " ");
    this.figures = element("div", { class: "shown" });
  }

  // A shared address may have a length that is not in the list.
  setLength(length) {
    if (![...this.length.options].some((option) => Number(option.value) === length)) {
      this.length.append(element("option", { value: length }, String(length)));
    }
    this.length.value = String(length);
  }

  draw() {
    this.inputField = labelled("Positions of input", this.input);
    return element("div", { class: "bench" },
      element("div", { class: "typed" },
        element("div", { class: "field" }, element("label", { for: "expression" }, "Pattern"), element("div", { class: "editor" }, this.behind, this.text)),
        this.problem),
      element("div", { class: "drawn" }, this.picture, this.cell),
      element("div", { class: "found" },
        element("div", { class: "fields" }, labelled("Tokens", this.length), labelled("Heads", this.heads), labelled("Layers", this.layers), this.inputField),
        element("div", { class: "actions" }, copyButton(() => location.href, "Copy the address of this pattern")),
        this.figures));
  }

  set(state) {
    this.state = { ...FIRST, ...state };
    this.text.value = this.state.e;
    this.heads.value = this.state.h;
    this.layers.value = this.state.l;
    this.input.value = this.state.i;
    this.setLength(this.state.n);
    this.changed(0);
  }

  changed(wait = WAIT) {
    const whole = (control, least) => Math.max(least, Math.trunc(Number(control.value)) || least);
    this.state = { e: this.text.value, n: Number(this.length.value), h: whole(this.heads, 1), l: whole(this.layers, 1), i: this.input.value };
    this.inputField.hidden = !/\binput\b|longformer/.test(this.state.e);
    this.mark(null);
    this.grow();
    history.replaceState(null, "", addressOf(this.state));
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.ask(), wait);
  }

  // The view is left: nothing more is asked, and the address is another's.
  leave() {
    clearTimeout(this.timer);
    this.request?.abort();
  }

  grow() {
    this.text.style.height = "auto";
    this.text.style.height = `${this.text.scrollHeight + 2}px`;
  }

  mark(place) {
    const text = this.text.value;
    this.text.setAttribute("aria-invalid", String(place !== null));
    if (place === null) {
      this.behind.replaceChildren(text);
      return;
    }
    const [begin, end] = spanOf(text, place);
    // At the end of the text there is nothing to underline but the space behind it.
    this.behind.replaceChildren(text.slice(0, begin), element("mark", {}, text.slice(begin, end) || " "), text.slice(end));
  }

  stale(is) {
    for (const shown of [this.picture, this.figures]) shown.classList.toggle("stale", is);
  }

  async ask() {
    this.request?.abort();
    this.request = new AbortController();
    const { signal } = this.request;
    this.stale(true);
    if (this.state.e.trim() === "") {
      this.problem.replaceChildren("Type a pattern, or choose one below.");
      return;
    }
    try {
      const answer = await ask("/v1/pattern", questionOf(this.state), signal);
      if (!signal.aborted) await this.show(answer);
    } catch (error) {
      if (error.name !== "AbortError" && !signal.aborted) this.showProblem(error.message);
    }
  }

  showProblem(message) {
    const { first, shown, place } = readProblem(message);
    this.problem.replaceChildren(element("div", { class: "alert" }, first, shown ? element("pre", {}, shown) : null));
    this.mark(place);
  }

  async show(answer) {
    const { picture } = answer;
    const say = (text) => { this.cell.textContent = text || " "; };
    const panels = await Promise.all(picture.panels.map(async (panel) => {
      const label = `${panel.label ? `${panel.label}: ` : ""}queries from top to bottom, keys from left to right; ${picture.lines.join("; ")}`;
      const canvas = await pictureCanvas(picture, panel, label, say);
      return element("figure", {}, canvas, panel.label ? element("figcaption", {}, panel.label) : null);
    }));
    this.problem.replaceChildren();
    this.picture.replaceChildren(element("div", { class: panels.length > 4 ? "panels many" : "panels" }, panels), legend(picture));
    this.figures.replaceChildren(...figures(answer, this.state.e, this.state.n));
    this.stale(false);
    announce(`${number(picture.edges)} edges, ${percent(picture.density)} of full attention`);
  }
}

async function thumbnail(entry) {
  const question = { expression: entry.expression, length: entry.length, heads: entry.heads, cells: 64, figures: false };
  if (entry.input) question.input = positions(entry.input);
  const { picture } = await ask("/v1/pattern", question);
  const canvas = await pictureCanvas(picture, picture.panels[0], "");
  canvas.setAttribute("aria-hidden", "true");
  return canvas;
}

function gallery(entries, bench) {
  const items = entries.map((entry) => {
    const frame = element("span", {}, element("span", { class: "picture" }));
    const button = element("button", { type: "button", onclick: () => {
      bench.set({ e: entry.expression, n: entry.length, h: entry.heads, i: entry.input });
      window.scrollTo({ top: 0, behavior: "smooth" });
      bench.text.focus({ preventScroll: true });
    } }, frame, element("span", {}, element("strong", {}, entry.title), element("small", {}, entry.about)));
    button.frame = frame;
    button.entry = entry;
    return element("li", {}, button);
  });
  // Pictures are asked for one after the other, once they are near the window.
  let line = Promise.resolve();
  const near = new IntersectionObserver((seen) => seen.filter((one) => one.isIntersecting).forEach(({ target }) => {
    near.unobserve(target);
    line = line.then(async () => {
      if (!target.isConnected) return;
      try {
        target.frame.replaceChildren(await thumbnail(target.entry));
      } catch {
        // The button says what it is without its picture.
      }
    });
  }), { rootMargin: "200px" });
  items.forEach((item) => near.observe(item.firstChild));
  return [element("h2", {}, "Published patterns"), element("ul", { class: "gallery" }, items)];
}

function names(language) {
  return element("details", { class: "names" }, element("summary", {}, "The words of the language"),
    element("p", { class: "soft" }, "Join patterns by | (either) and & (both); ! is all other pairs; brackets group."),
    element("dl", {}, language.map(({ usage, summary }) => [element("dt", {}, usage), element("dd", {}, summary)])));
}

export async function showPatterns(room, _parts, query, left) {
  const bench = new Workbench(stateOf(query));
  const below = element("div", {});
  left.addEventListener("abort", () => bench.leave());
  room.append(element("h1", {}, "Patterns"),
    element("p", { class: "lead" }, "Attention is a graph: which token may look at which. Describe it, and see what it connects and what it costs before anything is trained."),
    bench.draw(), below);
  bench.changed(0);
  try {
    const { names: language, gallery: entries } = await ask("/v1/patterns", undefined, left);
    below.append(names(language), ...gallery(entries, bench));
  } catch (error) {
    if (!left.aborted) below.append(alertOf(error.message));
  }
}
