// SPDX-License-Identifier: Apache-2.0
// Pictures of heads out of the codes of their cells, large and small.
"use strict";

const FORBIDDEN = 0; // a cell without edges, which is not a cell without attention
const SMALL_SIDE = 64; // pixels of a small picture
const FACTOR_OF_TWO = 8; // codes of means
const LARGE_RANGE = 96; // codes: what is 4,000 times weaker is as good as nothing
const SMALL_RANGE = 80; // 1,000 times weaker

const prefersDark = window.matchMedia("(prefers-color-scheme: dark)");

// The colour of each code as a pixel, by its strength from 0 to 1, and that of cells without edges.
function palette(strengths) {
  const dark = prefersDark.matches;
  const [from, to] = dark ? [[22, 24, 28], [255, 214, 102]] : [[255, 255, 255], [26, 60, 120]];
  const bytes = new Uint8ClampedArray(4 * 256);
  for (let code = 1; code < 256; ++code) {
    bytes.set([...from.map((channel, index) => Math.round(channel + (to[index] - channel) * strengths[code])), 255], 4 * code);
  }
  bytes.set([...(dark ? [58, 30, 34] : [244, 232, 232]), 255], 4 * FORBIDDEN);
  return new Uint32Array(bytes.buffer);
}

// How strong each code is: from the weakest to the strongest of `codes` whose column is not hidden, over a factor of two at
// least (a head that looks at everything alike is dark, and rounding is no contrast) and `range` codes at most.
function strengthsOf(codes, columns, hidden, range) {
  let low = 255;
  let high = 1;
  for (let index = 0; index < codes.length; ++index) {
    if (codes[index] === FORBIDDEN || hidden[index % columns]) continue;
    low = Math.min(low, codes[index]);
    high = Math.max(high, codes[index]);
  }
  low = Math.min(Math.max(low, high - range), high - FACTOR_OF_TWO);
  return Float64Array.from({ length: 256 }, (_, code) => Math.max(0, Math.min(1, (code - low) / (high - low))));
}

function columnsOf(picture, sinks) {
  const hidden = new Uint8Array(picture.columns);
  sinks.forEach((place) => { hidden[Math.floor((place - picture.column) / picture.cell)] = 1; });
  return hidden;
}

// Draws the cells of a picture, one pixel a cell, without the columns of sinks.
function paint(canvas, picture, measure, sinks) {
  const { rows, columns } = picture;
  const codes = picture[measure];
  const hidden = columnsOf(picture, sinks);
  const colours = palette(strengthsOf(codes, columns, hidden, LARGE_RANGE));
  draw(canvas, rows, columns, codes.map((code, index) => (hidden[index % columns] ? FORBIDDEN : code)), colours);
}

// One pixel a code.
function draw(canvas, rows, columns, codes, colours) {
  canvas.width = columns;
  canvas.height = rows;
  const context = canvas.getContext("2d");
  const image = context.createImageData(columns, rows);
  const pixels = new Uint32Array(image.data.buffer);
  codes.forEach((code, index) => { pixels[index] = colours[code]; });
  context.putImageData(image, 0, 0);
}

// The strongest code of each pixel of a picture that is drawn in `side` of them: what browsers leave out of a picture that
// they shrink, as a line of single cells, would be lost.
function shrunk({ rows, columns, mean }, side) {
  const [down, across] = [Math.min(side, rows), Math.min(side, columns)];
  const codes = new Uint8Array(down * across);
  for (let row = 0; row < rows; ++row) {
    const line = Math.floor((row * down) / rows) * across;
    for (let column = 0; column < columns; ++column) {
      const place = line + Math.floor((column * across) / columns);
      codes[place] = Math.max(codes[place], mean[row * columns + column]);
    }
  }
  return { rows: down, columns: across, codes };
}

// A head in small, by its means and on a scale of its own. Sinks are as strong as the strongest of the others, which would
// be faint beside them.
function paintSmall(canvas, picture, sinks) {
  const colours = palette(strengthsOf(picture.mean, picture.columns, columnsOf(picture, sinks), SMALL_RANGE));
  const { rows, columns, codes } = shrunk(picture, Math.round(SMALL_SIDE * (window.devicePixelRatio || 1)));
  draw(canvas, rows, columns, codes, colours);
}
