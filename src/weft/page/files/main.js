// SPDX-License-Identifier: Apache-2.0
// Which view a place of the address shows: #/ and #/models/NAME/TASK, #/patterns?..., #/attention/NAME.
import { alertOf, element } from "./elements.js";
import { listenForKey } from "./server.js";
import { showModels } from "./models.js";
import { showPatterns } from "./patterns.js";
import { showAttention } from "./attention.js";

const views = new Map([
  ["", { draw: showModels, title: "Models" }],
  ["models", { draw: showModels, title: "Models" }],
  ["patterns", { draw: showPatterns, title: "Patterns" }],
  ["attention", { draw: showAttention, title: "Attention" }],
]);

function showNowhere(room) {
  room.append(element("h1", {}, "Nothing is here"),
    alertOf("This page has no view with such an address. Choose Models, Patterns or Attention above."));
}

let visit = new AbortController(); // ends with its view

// The parts of a path, and what stands behind its question mark. A part that is no text of UTF-8 stays as it is.
function place() {
  const hash = location.hash.startsWith("#/") ? location.hash.slice(2) : "";
  const [path, query = ""] = [hash.split("?", 1)[0], hash.includes("?") ? hash.slice(hash.indexOf("?") + 1) : ""];
  const parts = path.split("/").map((part) => {
    try {
      return decodeURIComponent(part);
    } catch {
      return part;
    }
  });
  return { view: parts[0], parts: parts.slice(1).filter((part) => part !== ""), query: new URLSearchParams(query) };
}

function markNavigation(title) {
  for (const link of document.querySelectorAll("nav a")) {
    if (link.textContent === title) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

async function show() {
  visit.abort(); // whatever the last view still asks for
  const mine = new AbortController();
  visit = mine;
  const { view, parts, query } = place();
  const { draw, title } = views.get(view) ?? { draw: showNowhere, title: "Nothing is here" };
  markNavigation(title);
  document.title = `${title} · Weft`;
  const room = document.createElement("div");
  document.getElementById("main").replaceChildren(room);
  try {
    await draw(room, parts, query, mine.signal);
  } catch (error) {
    if (mine === visit) room.replaceChildren(alertOf(error.message));
  }
}

window.addEventListener("hashchange", (event) => {
  // A link within the page, as the one that skips to the content, is no other view.
  if (location.hash !== "" && !location.hash.startsWith("#/")) return;
  show();
  if (event.oldURL) document.getElementById("main").focus({ preventScroll: true });
});
listenForKey(show);
show();
