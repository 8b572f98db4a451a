// SPDX-License-Identifier: Apache-2.0
// edges("file.mtx"): any graph, from a Matrix Market file below the directory that the expression is read in. The
// canonical text carries a digest of the edges, so that a saved expression cannot quietly mean another graph.
#include <algorithm>
#include <filesystem>

#include "weft/core/error.h"
#include "weft/core/files.h"
#include "weft/core/quote.h"
#include "weft/pattern/language/names.h"
#include "weft/pattern/nodes/matrix_market.h"
#include "weft/pattern/nodes/row_lists.h"

namespace weft::pattern {
namespace {

/// FNV-1a over sizes and edges, cut to 48 bits so that a person can compare it.
std::int64_t digest_of(const EdgeList& list) {
  std::uint64_t hash = 0xCBF29CE484222325;
  const auto mix = [&hash](std::int64_t value) {
    for (int shift = 0; shift < 64; shift += 8) {
      hash = (hash ^ ((static_cast<std::uint64_t>(value) >> shift) & 0xFF)) * 0x100000001B3;
    }
  };
  mix(list.queries);
  mix(list.keys);
  for (const FileEdge& edge : list.edges) {
    mix(edge.query);
    mix(edge.key);
  }
  return static_cast<std::int64_t>(hash >> 16);
}

class Edges final : public RowLists {
 public:
  Edges(std::string file, EdgeList list) : file_(std::move(file)), list_(std::move(list)), digest_(digest_of(list_)) {}

  EdgeKind edge_kind(const Context&, std::int64_t, std::int64_t) const override { return EdgeKind::kOther; }
  void check(const Context& context) const override {
    const std::int64_t queries = context.query_offset + context.query_length;
    if (queries > list_.queries || context.key_length > list_.keys) {
      fail(ErrorKind::kExpression, "pattern: ", to_string(*this), " has ", list_.queries, " query and ", list_.keys,
           " key positions, but the call needs ", queries, " and ", context.key_length);
    }
  }
  void print(Printer& printer) const override {
    printer.open("edges");
    printer.argument().text("\"").text(file_).text("\"");
    printer.argument("digest").number({digest_}).close();
  }
  std::string_view file_name() const override { return file_; }
  std::string file_content() const override { return write_matrix_market(list_); }
  std::int64_t digest() const { return digest_; }

 protected:
  double row_work(const Context&) const override {
    return 1 + static_cast<double>(list_.edges.size()) / static_cast<double>(std::max<std::int64_t>(list_.queries, 1));
  }
  RowKeys keys(const Context& context, std::int64_t query, std::int64_t) const override {
    RowKeys row;
    auto edge = std::lower_bound(list_.edges.begin(), list_.edges.end(), FileEdge{query, 0});
    for (; edge != list_.edges.end() && edge->query == query && edge->key < context.key_length; ++edge) {
      row.push_back(edge->key);
    }
    return row;
  }

 private:
  std::string file_;
  EdgeList list_;
  std::int64_t digest_;
};

/// The file's content. Errors: a name that leaves the directory, by itself or by a link.
std::string read_graph(const Call& call, const std::string& name) {
  const std::filesystem::path relative(name);
  const bool climbs = std::find(relative.begin(), relative.end(), "..") != relative.end();
  if (name.empty() || name.find('\0') != std::string::npos || relative.is_absolute() || climbs) {
    call.fail("file", concat("edges: the file must lie below the directory of the config, found ", quote(name)));
  }
  const ModelFile file(call.directory, relative);
  try {
    if (file.exists()) {
      return read_file(file, kMaximumFile);
    }
  } catch (const Error& error) {
    call.fail("file", concat("edges: in the directory of the config: ", error.what()),
              error.kind() == ErrorKind::kIo ? ErrorKind::kIo : ErrorKind::kExpression);
  }
  call.fail("file", concat("edges: cannot open ", quote(name), ": No such file or directory"), ErrorKind::kIo);
}

}  // namespace

NodePtr build_edges(const Call& call) {
  const std::string name = call.get("file").text;
  auto edges = make_node<Edges>(name, read_matrix_market(read_graph(call, name), name));
  if (call.has("digest") && call.integer("digest") != Size{edges->digest()}) {
    call.fail("digest", concat("edges: ", quote(name), " holds another graph: its digest is ", edges->digest()));
  }
  return edges;
}

}  // namespace weft::pattern
