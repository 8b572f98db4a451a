// SPDX-License-Identifier: Apache-2.0
// Requests to the server that sent the page, and its failures in plain words. A key lives in this file's memory alone.

let key = "";

export class Failure extends Error {
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

/// The form that asks for a key, once the server has; `again` is called when there is one.
export function listenForKey(again) {
  document.getElementById("key").addEventListener("submit", (event) => {
    event.preventDefault();
    key = document.getElementById("key-value").value.trim();
    document.getElementById("key-value").value = "";
    document.getElementById("key").hidden = true;
    again();
  });
}

function askForKey() {
  document.getElementById("key").hidden = false;
  document.getElementById("key-value").focus();
}

// What a person can do about it stands first where the server's words are for programs.
function words(status, json) {
  const said = typeof json?.error === "string" ? json.error : "";
  if (status === 401) return key ? "The server does not know this key. Give another one above." : "The server asks for a key. Give it above.";
  if (status === 413) return `This is more than the server takes at once: ${said}.`;
  if (status === 429) return "The server has too many requests at the moment. Try again in a few seconds.";
  if (status === 503) return `The server cannot answer now: ${said}.`;
  return said || `The server answered with status ${status} and said nothing about it.`;
}

/// The server's answer as JSON. Throws Failure, or the browser's own error where `signal` ended the request.
export async function ask(path, body = undefined, signal = undefined) {
  const headers = {};
  if (key) headers.Authorization = `Bearer ${key}`;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  let answer;
  try {
    answer = await fetch(path, { method: body === undefined ? "GET" : "POST", headers, signal,
      body: body === undefined ? undefined : JSON.stringify(body), cache: "no-store", referrerPolicy: "no-referrer" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Failure("The server does not answer. Is weft serve still running?", 0);
  }
  let json = null;
  try {
    json = await answer.json();
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Failure("The server's answer broke off. Try again.", answer.status);
  }
  if (answer.ok) return json;
  if (answer.status === 401) askForKey();
  throw new Failure(words(answer.status, json), answer.status);
}

/// The models that are served, asked for once a visit.
let models = null;
export async function servedModels() {
  models ??= (await ask("/v1/models")).data;
  return models;
}
