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
  if (status === 413) return `This is more than is taken at once: ${said.replace("'truncation' in 'parameters' cuts the text there", "a tick under Settings lets it be cut")}.`;
  if (status === 429) return "The server has too many requests at the moment. Try again in a few seconds.";
  if (status === 503) return `The server cannot answer now: ${said}.`;
  return said || `The server answered with status ${status} and said nothing about it.`;
}

// What the server sends back to a request; `takes` is the type of answer that is asked for.
async function answerOf(path, body, signal, takes = undefined) {
  const headers = {};
  if (key) headers.Authorization = `Bearer ${key}`;
  if (takes) headers.Accept = takes;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  try {
    return await fetch(path, { method: body === undefined ? "GET" : "POST", headers, signal,
      body: body === undefined ? undefined : JSON.stringify(body), cache: "no-store", referrerPolicy: "no-referrer" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Failure("The server does not answer. Is weft serve still running?", 0);
  }
}

function brokenOff(error, status) {
  return error?.name === "AbortError" ? error : new Failure("The server's answer broke off. Try again.", status);
}

async function jsonOf(answer) {
  let json = null;
  try {
    json = await answer.json();
  } catch (error) {
    throw brokenOff(error, answer.status);
  }
  if (answer.ok) return json;
  if (answer.status === 401) askForKey();
  throw new Failure(words(answer.status, json), answer.status);
}

/// The server's answer as JSON. Throws Failure, or the browser's own error where `signal` ended the request.
export async function ask(path, body = undefined, signal = undefined) {
  return jsonOf(await answerOf(path, body, signal));
}

// An event of a stream: its name, and its data as JSON.
function eventOf(block) {
  const lines = block.split("\n");
  const of = (field) => lines.filter((line) => line.startsWith(`${field}: `)).map((line) => line.slice(field.length + 2)).join("\n");
  return { name: of("event") || "message", data: JSON.parse(of("data")) };
}

// The events of an answer as they come.
async function* eventsOf(answer) {
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    rest += value;
    const blocks = rest.split("\n\n");
    rest = blocks.pop();
    yield* blocks.map(eventOf);
  }
}

/// The same answer as that of `ask`, with each piece of it handed to `take` as it comes.
export async function askInPieces(path, body, signal, take) {
  const answer = await answerOf(path, body, signal, "text/event-stream");
  if (!answer.ok) return jsonOf(answer);
  try {
    for await (const { name, data } of eventsOf(answer)) {
      if (name === "result") return data;
      if (name === "error") throw new Failure(data.error, answer.status);
      take(data);
    }
  } catch (error) {
    throw error instanceof Failure ? error : brokenOff(error, answer.status);
  }
  throw brokenOff(null, answer.status);
}

/// The models that are served, asked for once a visit.
let models = null;
export async function servedModels() {
  models ??= (await ask("/v1/models")).data;
  return models;
}

/// The JSON Schemas of what a task may be told beside its texts, by name, as the server describes itself; asked for once.
let description = null;
export async function parametersOf(model, task) {
  description ??= ask("/openapi.json").catch((error) => {
    description = null; // tried again
    throw error;
  });
  const { paths } = await description;
  const body = paths[`/v1/models/${model}/${task}`]?.post.requestBody.content["application/json"].schema;
  return body?.properties?.parameters?.properties ?? {};
}
