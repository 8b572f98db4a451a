// SPDX-License-Identifier: Apache-2.0
// The figures of a pattern: what its graph connects, how far news travels in it, and what a model with it costs.
import { counted, element, number, percent, scaled } from "./elements.js";

function estimate(value, error) {
  return error > 0 ? `${number(value)} ± ${number(error, 2)}` : number(value);
}

// The measures of the graph, and what each says.
function graphRows(graph) {
  const rows = [["Edges", `${graph.sampled_rows > 0 ? "about " : ""}${number(graph.edges)}`, `${percent(graph.density)} of all pairs`],
                ["Blocks of 64 computed", number(graph.blocks.full + graph.blocks.partial), `of ${number(graph.blocks.possible)}; ${percent(graph.edges_per_slot)} of their scores are edges`]];
  if (!graph.measured) {
    return [...rows, ["Paths", "not measured", "the graph is too large; take fewer tokens"]];
  }
  rows.push(["Average path", estimate(graph.average_path, graph.average_path_error), "layers from one token to another"],
            ["Longest path found", number(graph.largest_path), graph.sampled > 0 ? `from a sample of ${number(graph.sampled)} tokens` : "the diameter"]);
  if (graph.unreachable_pairs > 0) rows.push(["Pairs without a path", percent(graph.unreachable_pairs), "no layer brings them together"]);
  rows.push(["Clustering", estimate(graph.clustering, graph.clustering_error), "neighbours that know each other"],
            ["Spectral gap", graph.spectral_gap === null ? "not found" : number(graph.spectral_gap), "large where news spreads fast"],
            ["Star inside", graph.contains_star ? "yes" : "no", graph.contains_star ? "one token sees all, and all see it" : "no token sees all and is seen by all"]);
  return rows;
}

function table(name, rows, head) {
  return element("div", { class: "scroll" }, element("table", { class: "grid-table", "aria-label": name },
    element("thead", {}, element("tr", {}, head.map((cell) => (cell ? element("th", { scope: "col" }, cell) : element("td", {}))))),
    element("tbody", {}, rows.map(([name, ...cells]) => element("tr", {}, element("th", { scope: "row" }, name), cells.map((cell) => element("td", {}, cell)))))));
}

function graphTable(graph) {
  return element("dl", {}, graphRows(graph).map(([name, value, about]) => [element("dt", {}, name), element("dd", {}, value, " ", element("small", {}, about))]));
}

function reachChart(graph, tokens) {
  if (graph.reach.length === 0) return null;
  const last = graph.reach.at(-1);
  const bars = graph.reach.map((reach, layer) => {
    const item = element("li", { title: `after layer ${layer + 1}: ${number(Math.round(reach))} tokens` });
    item.style.height = `${(100 * reach) / tokens}%`;
    return item;
  });
  const said = graph.reach.map((reach, layer) => `after layer ${layer + 1} ${number(Math.round(reach))}`).join(", ");
  return [element("h2", {}, "Tokens that one has heard of, layer by layer"),
          element("ol", { class: "reach", role: "img", "aria-label": said }, bars),
          element("p", { class: "soft" }, `After ${counted(graph.reach.length, "layer")}: ${number(Math.round(last))} of ${number(tokens)}.`)];
}

function costTable(cost) {
  const { sparse, dense } = cost;
  const row = (name, of, unit) => [name, scaled(of(sparse), unit), scaled(of(dense), unit), percent(of(sparse) / of(dense))];
  const seconds = (name, of) => (of(sparse) === null || of(sparse) === undefined ? [] : [row(name, of, "s")]);
  return [
    element("h2", {}, "Predicted cost"),
    table("Predicted cost", [row("Attention, forward", (of) => of.inference.attention.flops, "FLOP"),
           row("Model, forward", (of) => of.inference.total.flops, "FLOP"),
           row("Model, training step", (of) => of.training.total.flops, "FLOP"),
           row("Memory, inference", (of) => of.inference_bytes, "B"),
           row("Memory, training", (of) => of.training_bytes, "B"),
           ...seconds("Time, forward", (of) => of.inference.total.seconds),
           ...seconds("Time, training step", (of) => of.training.total.seconds)], ["", "this pattern", "full attention", "share"]),
    element("p", { class: "soft" }, `Of a model with ${counted(cost.shape.layers, "layer")} of ${counted(cost.shape.heads, "head")}, each 64 wide, in float32.`,
      sparse.inference.total.seconds === null ? " Type “weft bench calibrate” once on the server's machine, and seconds stand here, too." : ""),
  ];
}

/// What the server found of the pattern that a person typed, over so many tokens.
export function figures(answer, typed, tokens) {
  const { graph, cost } = answer;
  return [
    answer.expanded.replace(/\s/g, "") !== typed.replace(/\s/g, "") ? element("p", { class: "soft" }, "Means ", element("code", {}, answer.expanded)) : null,
    element("h2", {}, "The graph"), graphTable(graph), ...(reachChart(graph, tokens) ?? []), ...costTable(cost),
  ].filter((part) => part !== null);
}
