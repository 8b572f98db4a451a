// SPDX-License-Identifier: Apache-2.0
// Trees without text: the combinators for callers in C++, and the node for an explicit plan of blocks, which the
// language's BigBird plans stand on.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

#include "weft/pattern/syntax.h"

namespace weft::pattern {

/// The syntax tree of an expression; errors as Pattern::parse.
NodePtr parse_node(std::string_view expression, const std::filesystem::path& directory = {});

/// P | Q | ...: the largest multiplicity, to which plans add theirs. Unions among the terms are merged into this one.
NodePtr any_of(std::vector<NodePtr> terms);
/// P & Q & ...: the largest multiplicity where all have an edge.
NodePtr all_of(std::vector<NodePtr> terms);
NodePtr complement(NodePtr pattern);
/// block(size, pattern). Errors: kArgument when size < 1.
NodePtr block(std::int64_t size, NodePtr pattern);
/// block(layer, pattern) where the size says so.
NodePtr block(const Size& size, NodePtr pattern);

/// A term of heads(...): as many heads as `count` says, or an equal share where no term has a count.
struct HeadShare {
  std::optional<std::int64_t> count;
  NodePtr pattern;
};
/// Errors: kArgument for a term that itself has `heads`, for no term, or for counts on some terms only.
NodePtr heads(std::vector<HeadShare> shares);

/// For each head (or one entry for all heads), for each query block: key blocks in any order, WITH repetitions, each of
/// which adds one to the multiplicity of the block.
struct BlockPlan {
  std::vector<std::vector<std::vector<std::int64_t>>> key_blocks;  ///< [heads or 1][query blocks][any]
};

/// A plan as a term of a union: `block(64, any_of({parse_node("global(first=1, last=1) | window(3)"), plan(...)}))` is
/// what the released BigBird code computes. Counts cells of the grid it stands on. Prints as plan(...) with a digest of
/// its content, which the parser does not read. Errors: kArgument for a negative block or an empty plan; kExpression,
/// when it is fitted to a site, where query blocks, key blocks or heads differ from the plan's.
NodePtr plan(BlockPlan blocks);

/// random(count, plan="hf-eval"): what Hugging Face's BigBird does outside training. Its plan is all zeros, so that
/// every row of blocks but the first and the last attends to block 0 `count` times more.
NodePtr hf_eval_plan(const Size& count);

/// A name for a published model: prints as `text`, is `expansion`.
NodePtr named(std::string text, NodePtr expansion);

}  // namespace weft::pattern
