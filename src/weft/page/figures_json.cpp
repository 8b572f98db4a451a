// SPDX-License-Identifier: Apache-2.0
// Structures of inspect/ as JSON.
#include "weft/page/figures_json.h"

namespace weft::page {
namespace {

formats::Json work_json(const inspect::Work& work) {
  return {{"flops", work.flops}, {"bytes", work.bytes}, {"seconds", formats::or_null(work.seconds)}};
}

formats::Json step_json(const inspect::StepCost& step) {
  return {{"products", work_json(step.products)}, {"attention", work_json(step.attention)},
          {"states", work_json(step.states)},     {"head", work_json(step.head)},
          {"update", work_json(step.update)},     {"total", work_json(step.total)}};
}

}  // namespace

formats::Json picture_json(const inspect::Picture& picture) {
  const inspect::PictureFigures& figures = picture.figures;
  formats::Json panels = formats::Json::array();
  for (const inspect::PicturePanel& panel : picture.panels) {
    panels.push_back(panel.heads);
  }
  formats::Json kinds = formats::Json::array();
  for (const pattern::EdgeKind kind : kinds_of(picture)) {
    kinds.push_back(pattern::edge_kind_name(kind));
  }
  return {{"expression", picture.expression},
          {"query_length", picture.query_length},
          {"key_length", picture.key_length},
          {"query_offset", picture.query_offset},
          {"heads", picture.heads},
          {"edges", figures.edges},
          {"edges_error", figures.edges_error},
          {"sampled_rows", figures.sampled},
          {"density", figures.density},
          {"blocks",
           {{"size", 64},
            {"full", figures.full_blocks},
            {"partial", figures.partial_blocks},
            {"possible", figures.possible_blocks}}},
          {"edges_per_slot", figures.edges_per_slot},
          {"kinds", kinds},
          {"equal_heads", panels}};
}

namespace {

formats::Json blocks_json(const inspect::GraphStatistics& stats) {
  return {{"size", 64},
          {"full", stats.layout.full_blocks},
          {"partial", stats.layout.partial_blocks + stats.layout.weighted_blocks},
          {"possible", stats.possible_blocks}};
}

formats::Json reach_json(const inspect::GraphStatistics& stats) {
  formats::Json reach = formats::Json::array();
  for (const inspect::Estimate& layer : stats.reach) {
    reach.push_back(layer.value);
  }
  return reach;
}

}  // namespace

formats::Json stats_json(const std::string& expression, const inspect::GraphStatistics& stats) {
  formats::Json json = {{"expression", expression},
                        {"length", stats.positions},
                        {"edges", stats.layout.edges},
                        {"edges_error", stats.edges_error},
                        {"sampled_rows", stats.sampled_rows},
                        {"measured", stats.is_measured},
                        {"density", stats.layout.density},
                        {"blocks", blocks_json(stats)},
                        {"edges_per_slot", stats.layout.edges_per_slot},
                        {"isolated", stats.isolated},
                        {"unreachable", stats.unseen},
                        {"sampled", stats.sampled},
                        {"average_path", stats.paths.average.value},
                        {"average_path_error", stats.paths.average.error},
                        {"largest_path", stats.paths.largest},
                        {"unreachable_pairs", stats.paths.unreachable.value},
                        {"clustering", stats.clustering.value},
                        {"clustering_error", stats.clustering.error},
                        {"second_eigenvalue", nullptr},
                        {"second_eigenvalue_error", nullptr},
                        {"spectral_gap", nullptr},
                        {"contains_star", stats.contains_star},
                        {"reach", reach_json(stats)}};
  if (stats.second_eigenvalue) {
    json["second_eigenvalue"] = stats.second_eigenvalue->value;
    json["second_eigenvalue_error"] = stats.second_eigenvalue->error;
    json["spectral_gap"] = 1 - stats.second_eigenvalue->value;
  }
  for (const char* measure : {"isolated", "unreachable", "average_path", "average_path_error", "largest_path",
                              "unreachable_pairs", "clustering", "clustering_error", "contains_star"}) {
    if (!stats.is_measured) {
      json[measure] = nullptr;
    }
  }
  return json;
}

formats::Json cost_json(const inspect::ModelCost& cost) {
  return {{"inference", step_json(cost.inference)}, {"training", step_json(cost.training)},
          {"parameters", cost.parameters},          {"inference_bytes", cost.inference_bytes},
          {"training_bytes", cost.training_bytes},  {"computed_share", cost.computed_share}};
}

}  // namespace weft::page
