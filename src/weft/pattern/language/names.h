// SPDX-License-Identifier: Apache-2.0
// The one table of names of the language: how each is called, what it takes, and which function builds its node. The
// parser reads arguments by this table, so that a new pattern is a row here and a file of its own.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/pattern/build.h"
#include "weft/pattern/language/lexer.h"

namespace weft::pattern {

enum class ParameterKind {
  kInteger,  ///< a whole number in [minimum, 2^62], or `layer`
  kReal,     ///< a number in [0, 1]
  kString,   ///< "..."
  kWord,     ///< one of the choices, without quotes
  kList,     ///< [1, 2, 3]
  kInput,    ///< the word `input`, wherever it stands
  kPattern,  ///< an expression
};

struct Parameter {
  std::string_view name;
  ParameterKind kind = ParameterKind::kInteger;
  bool positional = false;  ///< may be given without its name, in the order of the table
  std::int64_t minimum = 0;
  std::span<const std::string_view> choices = {};
};

/// One argument as it was read; only the member that its kind names is set.
struct Argument {
  Span where;
  Size integer;
  double real = 0;
  std::string text;
  std::vector<std::int64_t> list;
  NodePtr pattern;
};

/// A name with its arguments, for the function that builds the node.
struct Call {
  std::string_view source;
  std::string_view name;
  Span where;
  std::span<const Parameter> parameters;
  std::vector<std::optional<Argument>> arguments;  ///< as `parameters`
  std::vector<HeadShare> terms;                    ///< of a variadic name
  std::filesystem::path directory;                 ///< that files are looked for in

  const Argument* find(std::string_view parameter) const;
  bool has(std::string_view parameter) const { return find(parameter) != nullptr; }
  /// The argument, or an error that it is missing.
  const Argument& get(std::string_view parameter) const;
  Size integer(std::string_view parameter) const { return get(parameter).integer; }
  Size integer(std::string_view parameter, std::int64_t otherwise) const;
  std::string word(std::string_view parameter, std::string_view otherwise) const;
  /// Throws with a caret under the argument, or under the name where it is not given.
  [[noreturn]] void fail(std::string_view parameter, const std::string& message,
                         ErrorKind kind = ErrorKind::kExpression) const;
};

struct Name {
  std::string_view name;
  std::string_view usage;    ///< "window(w), window(left=a, right=b, dilation=d)"
  std::string_view summary;  ///< one line for people
  std::span<const Parameter> parameters;
  NodePtr (*build)(const Call& call);
  bool variadic = false;  ///< takes patterns, each with an optional count, instead of parameters
};

/// In the order in which people should read them.
std::span<const Name> names();
const Name* find_name(std::string_view name);
std::vector<std::string_view> all_names();
/// ", did you mean 'window'?" where a candidate is near to `word`, else "; the names are " and all candidates, where
/// `what` is "names".
std::string suggestion(std::string_view word, std::span<const std::string_view> candidates, std::string_view what);

NodePtr build_full(const Call& call);
NodePtr build_causal(const Call& call);
NodePtr build_window(const Call& call);
NodePtr build_ring(const Call& call);
NodePtr build_circle(const Call& call);
NodePtr build_global(const Call& call);
NodePtr build_stride(const Call& call);
NodePtr build_segment(const Call& call);
NodePtr build_summary(const Call& call);
NodePtr build_axial(const Call& call);
NodePtr build_block(const Call& call);
NodePtr build_heads(const Call& call);
NodePtr build_random(const Call& call);
NodePtr build_erdos_renyi(const Call& call);
NodePtr build_watts_strogatz(const Call& call);
NodePtr build_edges(const Call& call);
/// random(r, plan=...) for the plans of published code.
NodePtr build_published_plan(const Call& call);
NodePtr build_bigbird(const Call& call);
NodePtr build_longformer(const Call& call);
NodePtr build_etc(const Call& call);
NodePtr build_star(const Call& call);
NodePtr build_strided(const Call& call);
NodePtr build_fixed(const Call& call);

/// Throws where a random(..., plan=...) stands anywhere but inside block(b, global(first=1, last=1) | window(3) | ...).
void check_plans(std::string_view source, const Node& root);

}  // namespace weft::pattern
