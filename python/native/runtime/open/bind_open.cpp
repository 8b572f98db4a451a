// SPDX-License-Identifier: Apache-2.0
// The class Model of the module _runtime. Texts and numbers cross as they are, settings and results as the JSON of the
// commands, so that nothing has two names; weft_attention._open is what people call.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <memory>
#include <new>

#include "arrays.h"
#include "bindings.h"
#include "python_call.h"
#include "task_call.h"
#include "weft/core/quote.h"

namespace weft::python {
namespace {

namespace nb = nanobind;
using namespace nb::literals;
using Texts = std::vector<std::string>;

struct TaskRow {
  std::string_view name;
  Results (*run)(Opened& model, const TaskCall& call);
};
constexpr std::array kTasks{
    TaskRow{"answer", answer},
    TaskRow{"choose", choose},
    TaskRow{"chunk", chunk},
    TaskRow{"classify", classify},
    TaskRow{"fill_mask", fill_mask},
    TaskRow{"generate", generate},
    TaskRow{"rerank", rerank},
    TaskRow{"restore", restore},
    TaskRow{"score", score},
    TaskRow{"summarize", summarize},
    TaskRow{"tag", tag},
    TaskRow{"translate", translate},
};

struct VectorRow {
  std::string_view name;
  Vectors (*run)(Opened& model, const TaskCall& call);
};
constexpr std::array kVectorTasks{VectorRow{"embed", embed}, VectorRow{"encode", encode}};

template <typename Rows>
auto function_of(const Rows& rows, const std::string& task) {
  const auto row = std::ranges::find(rows, task, [](const auto& one) { return one.name; });
  require(row != rows.end(), "there is no task ", Quoted(task));
  return row->run;
}

// Bytes that are no UTF-8 become U+FFFD, as the commands print them.
std::string json_text(const formats::Json& json) {
  return json.dump(-1, ' ', false, formats::Json::error_handler_t::replace);
}

TaskCall call_of(std::string task, Texts texts, std::optional<Texts> seconds, const std::string& given) {
  TaskCall call;
  call.given = formats::parse_json(given, "settings");
  call.task = std::move(task);
  require(!seconds || seconds->size() == texts.size(), call.task, ": ", texts.size(), " texts and ",
          seconds ? seconds->size() : 0, " second ones; expected as many");
  call.documents.reserve(texts.size());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    tasks::Document document{.first = std::move(texts[i]), .name = concat("text ", i + 1)};
    if (seconds) {
      document.second = std::move((*seconds)[i]);
    }
    call.documents.push_back(std::move(document));
  }
  return call;
}

// Hands pieces to a function of Python; what it raises ends the work, and is raised where that has ended.
class PieceListener {
 public:
  explicit PieceListener(nb::callable function) : function_(std::move(function)) {}

  bool takes(const std::string& piece) {
    if (piece.empty() || raised_) {
      return !raised_;
    }
    const nb::gil_scoped_acquire lock;
    try {
      const auto text = nb::steal(PyUnicode_DecodeUTF8(piece.data(), std::ssize(piece), "replace"));
      const nb::object goes_on = function_(text);
      const int truth = goes_on.is_none() ? 1 : PyObject_IsTrue(goes_on.ptr());
      if (truth < 0) {
        throw nb::python_error();
      }
      return truth != 0;
    } catch (nb::python_error& error) {
      raised_.emplace(std::move(error));
      return false;
    }
  }

  void rethrow() {
    if (raised_) {
      throw nb::python_error(std::move(*raised_));
    }
  }

 private:
  nb::callable function_;
  std::optional<nb::python_error> raised_;
};

std::string run_task(Opened& model, const TaskCall& call) {
  formats::Json all = formats::Json::array();
  for (tasks::TaskResult& one : function_of(kTasks, call.task)(model, call)) {
    all.push_back({{"result", std::move(one.result)}, {"metadata", std::move(one.metadata)}});
  }
  return json_text(all);
}

std::string run_texts(Opened& model, std::string task, Texts texts, std::optional<Texts> seconds,
                      const std::string& given) {
  const TaskCall call = call_of(std::move(task), std::move(texts), std::move(seconds), given);
  return compute([&] { return run_task(model, call); });
}

std::string write_texts(Opened& model, std::string task, Texts texts, const std::string& given, nb::callable on_text) {
  TaskCall call = call_of(std::move(task), std::move(texts), {}, given);
  PieceListener listener(std::move(on_text));
  call.takes = [&](const std::string& piece) { return listener.takes(piece); };
  try {
    std::string written = compute([&] { return run_task(model, call); });
    listener.rethrow();
    return written;
  } catch (const Error&) {
    listener.rethrow();
    throw;
  }
}

nb::tuple run_vectors(Opened& model, std::string task, Texts texts, const std::string& given) {
  const TaskCall call = call_of(std::move(task), std::move(texts), {}, given);
  const Vectors vectors = compute([&] { return function_of(kVectorTasks, call.task)(model, call); });
  nb::list arrays;
  for (const at::Tensor& rows : vectors.rows) {
    arrays.append(array_of(rows));
  }
  return nb::make_tuple(arrays, json_text(vectors.metadata));
}

}  // namespace

void bind_open(nb::module_& module) {
  nb::class_<Opened>(module, "Model")
      .def(
          "__init__",
          [](Opened* place, const std::string& name, const std::string& given) {
            auto opened =
                compute([&] { return std::make_unique<Opened>(name, formats::parse_json(given, "settings")); });
            new (place) Opened(std::move(*opened));
          },
          "name"_a, "settings"_a)
      .def_prop_ro("family", [](const Opened& model) { return model.family(); })
      .def_prop_ro("path", [](const Opened& model) { return model.directory().root().string(); })
      .def("run", run_texts, "task"_a, "texts"_a, "seconds"_a.none(), "settings"_a)
      .def("write", write_texts, "task"_a, "texts"_a, "settings"_a, "on_text"_a)
      .def("vectors", run_vectors, "task"_a, "texts"_a, "settings"_a);
}

}  // namespace weft::python
