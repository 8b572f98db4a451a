// SPDX-License-Identifier: Apache-2.0
// The button that asks a model, the one that stops it, and what says how long it has been at work.
import { announce, element } from "./elements.js";

/// `start` and `stop` are buttons, of which the second is there while something runs; `line` tells how far it is.
export class Watch {
  constructor(title, stop) {
    this.start = element("button", {}, title);
    this.stop = element("button", { type: "button", class: "stop", hidden: true, onclick: stop }, "Stop");
    this.line = element("p", { class: "busy", hidden: true });
  }

  run() {
    clearInterval(this.timer);
    this.since = performance.now();
    const focus = document.activeElement === this.start;
    this.show(true);
    if (focus) this.stop.focus(); // a button that cannot be pressed keeps no focus
    announce("The model works. Press Stop to end it.");
    this.tell("The model works …");
    this.timer = setInterval(() => this.tell(), 250);
  }

  tell(text = this.text) {
    this.text = text;
    this.line.textContent = this.passed() < 1 ? text : `${text} ${Math.floor(this.passed())} s`;
  }

  /// Seconds since it began.
  passed() {
    return (performance.now() - this.since) / 1000;
  }

  end() {
    clearInterval(this.timer);
    const focus = document.activeElement === this.stop;
    this.show(false);
    if (focus) this.start.focus();
  }

  show(running) {
    this.start.disabled = running;
    this.stop.hidden = !running;
    this.line.hidden = !running;
  }
}
