// SPDX-License-Identifier: Apache-2.0
// A call of Python in which Weft computes: other threads of Python go on, Ctrl-C stays Python's, and LibTorch computes
// as in the program, whatever modes of torch the caller is in.
#pragma once

#include <nanobind/nanobind.h>

#include <exception>
#include <memory>
#include <optional>
#include <type_traits>

#include <c10/core/InferenceMode.h>

#include "weft/training/precision.h"

namespace weft::python {

/// While one lives, signals are those of Python, and weft::interrupted() asks whether one of Python's handlers raised
/// in this thread. Made and destroyed while the interpreter's lock is held.
class SignalsOfPython {
 public:
  SignalsOfPython();
  ~SignalsOfPython();
  SignalsOfPython(const SignalsOfPython&) = delete;
  SignalsOfPython& operator=(const SignalsOfPython&) = delete;

  /// Whether a handler raised. Takes the interpreter's lock, at most fifty times a second.
  bool asks() noexcept;
  /// Throws what a handler raised, if one did; what Weft said on the way out is its cause.
  void rethrow(const std::exception_ptr& said);

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
  SignalsOfPython* before_;
  std::optional<nanobind::python_error> raised_;
  double asked_ = 0;  // seconds of a clock
};

/// What LibTorch computes in, as in a new thread: no inference mode, no autocast. Errors: kArgument where the default
/// dtype of torch is not float32.
class PlainTorch {
 public:
  PlainTorch();

 private:
  const c10::InferenceMode recording_{false};
  const training::AutocastGuard float32_{"float32"};
};

/// work() without the interpreter's lock. Errors: those of `work`; what a handler of a signal raised.
template <typename Work>
std::invoke_result_t<Work> compute(const Work& work) {
  SignalsOfPython signals;
  std::exception_ptr said;
  std::optional<std::invoke_result_t<Work>> result;
  {
    const nanobind::gil_scoped_release others_go_on;
    try {
      const PlainTorch plain;
      result.emplace(work());
    } catch (...) {
      said = std::current_exception();
    }
  }
  signals.rethrow(said);
  if (said) {
    std::rethrow_exception(said);
  }
  return std::move(*result);
}

}  // namespace weft::python
