// SPDX-License-Identifier: Apache-2.0
// The table of names, and what to suggest for one that is not there.
#include "weft/pattern/language/names.h"

#include <algorithm>

#include "weft/core/error.h"
#include "weft/core/joined.h"
#include "weft/core/quote.h"

namespace weft::pattern {
namespace {

using Kind = ParameterKind;

// Parameters by name; those that several names share stand first. A minimum of 0 is the default.
constexpr bool kPositional = true;
constexpr std::string_view kTruths[] = {"true", "false"};
constexpr std::string_view kSides[] = {"keys", "queries"};
constexpr std::string_view kPlans[] = {"released", "hf-eval", "uniform"};
constexpr std::string_view kHeads[] = {"heads"};

constexpr Parameter kSplit{"split", Kind::kWord, false, 0, kTruths};
constexpr Parameter kSeed{"seed"};
constexpr Parameter kPlan{"plan", Kind::kString, false, 0, kPlans};
constexpr Parameter kShare{"share", Kind::kWord, false, 0, kHeads};
constexpr Parameter kWidth{"w", Kind::kInteger, kPositional, 1};
constexpr Parameter kLength{"l", Kind::kInteger, kPositional, 1};
constexpr Parameter kCount{"c", Kind::kInteger, kPositional, 1};

constexpr Parameter kWindow[] = {kWidth, {"left"}, {"right"}, {"dilation", Kind::kInteger, false, 1}};
constexpr Parameter kRing[] = {kWidth};
constexpr Parameter kCircle[] = {{"left"}, {"right"}, {"multiple", Kind::kInteger, false, 1}};
constexpr Parameter kGlobal[] = {{"first", Kind::kInteger, kPositional},
                                 {"last"},
                                 {"at", Kind::kList},
                                 {"input", Kind::kInput},
                                 {"side", Kind::kWord, false, 0, kSides}};
constexpr Parameter kRandom[] = {{"r", Kind::kInteger, kPositional}, kSeed, kPlan, kShare};
constexpr Parameter kPeriod[] = {kLength};
constexpr Parameter kSummary[] = {kLength, kCount};
constexpr Parameter kErdosRenyi[] = {{"p", Kind::kReal, kPositional}, kSeed};
constexpr Parameter kWattsStrogatz[] = {
    {"k", Kind::kInteger, kPositional, 1}, {"beta", Kind::kReal, kPositional}, kSeed};
constexpr Parameter kEdges[] = {{"file", Kind::kString, kPositional}, {"digest"}};
constexpr Parameter kAxial[] = {{"rows", Kind::kInteger, kPositional, 1}, {"columns", Kind::kInteger, kPositional, 1}};
constexpr Parameter kBlock[] = {{"b", Kind::kInteger, kPositional, 1}, {"pattern", Kind::kPattern, kPositional}};
constexpr Parameter kBigBird[] = {
    {"block", Kind::kInteger, false, 1}, {"window", Kind::kInteger, false, 1}, {"random"}, kSeed, kPlan};
constexpr Parameter kEtc[] = {{"global", Kind::kInteger, kPositional}, {"window", Kind::kInteger, kPositional, 1}};
constexpr Parameter kStrided[] = {kLength, kSplit};
constexpr Parameter kFixed[] = {kLength, kCount, kSplit};

// name, usage for messages and help, one line for people, parameters, the function that builds the node.
constexpr Name kNames[] = {
    {"full", "full", "every key", {}, build_full},
    {"causal", "causal", "keys up to the query", {}, build_causal},
    {"window", "window(w), window(left=a, right=b), either with dilation=d",
     "keys near the query: floor(w/2) on each side, or a before and b after", kWindow, build_window},
    {"ring", "ring(w)", "window(w) on a circle", kRing, build_ring},
    {"circle", "circle(left=a, right=b), with multiple=m",
     "a window on a circle that counts a key once for each way to it", kCircle, build_circle},
    {"global", "global(n), global(first=a, last=b, at=[i, j]), global(input), any with side=keys or side=queries",
     "positions that see all and that all see", kGlobal, build_global},
    {"random", "random(r, seed=s), with share=heads or plan=\"released\" or plan=\"hf-eval\"",
     "r keys drawn for each query", kRandom, build_random},
    {"stride", "stride(l)", "keys whose distance is a multiple of l", kPeriod, build_stride},
    {"segment", "segment(l)", "keys of the query's own segment of l", kPeriod, build_segment},
    {"summary", "summary(l, c)", "the last c keys of every segment of l", kSummary, build_summary},
    {"erdos_renyi", "erdos_renyi(p, seed=s)", "each edge with probability p", kErdosRenyi, build_erdos_renyi},
    {"watts_strogatz", "watts_strogatz(k, beta, seed=s)", "a ring with rewired edges", kWattsStrogatz,
     build_watts_strogatz},
    {"edges", "edges(\"file.mtx\")", "the graph in a file", kEdges, build_edges},
    {"axial", "axial(rows, columns)", "the query's row and column of a grid", kAxial, build_axial},
    {"block", "block(b, P)", "P on the grid of blocks of b", kBlock, build_block},
    {"heads", "heads(4 * P, 8 * Q), heads(P, Q)", "a pattern for each head", {}, build_heads, true},
    {"bigbird", "bigbird(block=64, window=3, random=3, seed=layer, plan=\"released\")",
     "BigBird's global, window and random blocks", kBigBird, build_bigbird},
    {"longformer", "longformer(w)", "window(w) | global(input)", kRing, build_longformer},
    {"etc", "etc(global=g, window=w)", "global(g) | window(w)", kEtc, build_etc},
    {"star", "star", "ring(2) | global(1)", {}, build_star},
    {"strided", "strided(l), strided(l, split=true)", "causal & (window(left=l) | stride(l))", kStrided, build_strided},
    {"fixed", "fixed(l, c), fixed(l, c, split=true)", "causal & (segment(l) | summary(l, c))", kFixed, build_fixed},
};

}  // namespace

std::span<const Name> names() { return kNames; }

const Name* find_name(std::string_view name) {
  const auto found =
      std::find_if(names().begin(), names().end(), [&](const Name& entry) { return entry.name == name; });
  return found == names().end() ? nullptr : &*found;
}

std::string suggestion(std::string_view word, std::span<const std::string_view> candidates, std::string_view what) {
  const std::string_view meant = nearest_name(word, candidates);
  return meant.empty() ? concat("; the ", what, " are ", joined(candidates, ", "))
                       : concat(", did you mean '", meant, "'?");
}

std::vector<std::string_view> all_names() {
  std::vector<std::string_view> result;
  for (const Name& entry : names()) {
    result.push_back(entry.name);
  }
  return result;
}

const Argument* Call::find(std::string_view parameter) const {
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i].name == parameter) {
      return arguments[i] ? &*arguments[i] : nullptr;
    }
  }
  return nullptr;
}

const Argument& Call::get(std::string_view parameter) const {
  const Argument* argument = find(parameter);
  if (argument == nullptr) {
    fail(parameter, concat(name, " needs ", parameter, ": ", find_name(name)->usage));
  }
  return *argument;
}

Size Call::integer(std::string_view parameter, std::int64_t otherwise) const {
  return has(parameter) ? get(parameter).integer : Size{otherwise};
}

std::string Call::word(std::string_view parameter, std::string_view otherwise) const {
  return has(parameter) ? get(parameter).text : std::string(otherwise);
}

void Call::fail(std::string_view parameter, const std::string& message, ErrorKind kind) const {
  const Argument* argument = find(parameter);
  fail_at(source, argument == nullptr ? where : argument->where, message, kind);
}

}  // namespace weft::pattern
