// SPDX-License-Identifier: Apache-2.0
// A pattern as the server draws it: cells over queries (down) and keys (across), each with a kind and a strength.
import { element } from "./elements.js";

const prefersDark = window.matchMedia("(prefers-color-scheme: dark)");
prefersDark.addEventListener("change", () => document.querySelectorAll("canvas.picture").forEach((canvas) => canvas.paint?.()));

// Two bytes a cell: the number of its kind, and 1 to 255 for the share of its pairs; 0 where there are none.
async function unpacked(base64) {
  const packed = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

function channels(colour) {
  return [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
}

function paint(canvas, picture, cells) {
  const empty = prefersDark.matches ? [35, 39, 46] : [239, 237, 230];
  const colours = new Map(picture.kinds.map((kind) => [kind.number, channels(kind.colour)]));
  canvas.width = picture.columns;
  canvas.height = picture.rows;
  const context = canvas.getContext("2d");
  const image = context.createImageData(picture.columns, picture.rows);
  for (let index = 0; index < picture.rows * picture.columns; ++index) {
    const share = cells[2 * index + 1] / 255;
    // Weak shares are lifted, so that one edge in a large cell is seen.
    const strength = share === 0 ? 0 : 0.3 + 0.7 * Math.sqrt(share);
    const colour = colours.get(cells[2 * index]) ?? empty;
    for (let channel = 0; channel < 3; ++channel) {
      image.data[4 * index + channel] = Math.round(empty[channel] + (colour[channel] - empty[channel]) * strength);
    }
    image.data[4 * index + 3] = 255;
  }
  context.putImageData(image, 0, 0);
}

function range(begin, cell, length) {
  const end = Math.min(length, begin + cell) - 1;
  return end > begin ? `${begin}–${end}` : `${begin}`;
}

/// What the cell under a pointer is.
function cellText(picture, cells, row, column) {
  const index = row * picture.columns + column;
  const queries = range(row * picture.cell, picture.cell, picture.query_length);
  const keys = range(column * picture.cell, picture.cell, picture.key_length);
  const share = cells[2 * index + 1] / 255;
  const kind = picture.kinds.find((one) => one.number === cells[2 * index])?.name;
  const edges = share === 0 ? "no edge" : picture.cell === 1 ? kind : `mostly ${kind}, ${Math.max(1, Math.round(100 * share))}% of pairs`;
  return `query ${queries}, key ${keys}: ${edges}`;
}

/// The canvas of one panel; `say` is told what lies under the pointer.
export async function pictureCanvas(picture, panel, label, say = null) {
  const cells = await unpacked(panel.cells);
  const canvas = element("canvas", { class: "picture", role: "img", "aria-label": label });
  canvas.paint = () => paint(canvas, picture, cells);
  canvas.paint();
  if (say) {
    canvas.addEventListener("pointermove", (event) => {
      const box = canvas.getBoundingClientRect();
      const at = (share, count) => Math.max(0, Math.min(count - 1, Math.floor(share * count)));
      say(cellText(picture, cells, at((event.clientY - box.top) / box.height, picture.rows), at((event.clientX - box.left) / box.width, picture.columns)));
    });
    canvas.addEventListener("pointerleave", () => say(""));
  }
  return canvas;
}

export function legend(picture) {
  return element("ul", { class: "legend", "aria-label": "Colours" }, picture.kinds.map((kind) => {
    const swatch = element("span", { class: "swatch" });
    swatch.style.background = kind.colour;
    return element("li", {}, swatch, kind.name);
  }));
}
