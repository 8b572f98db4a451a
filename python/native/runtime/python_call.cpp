// SPDX-License-Identifier: Apache-2.0
// Calls of several threads share one claim to the signals, which the last of them gives up.
#include "python_call.h"

#include <chrono>
#include <mutex>

#include <c10/core/DefaultDtype.h>

#include "weft/core/error.h"
#include "weft/core/interrupt.h"

namespace weft::python {
namespace {

namespace nb = nanobind;

thread_local SignalsOfPython* call_of_thread = nullptr;

bool handler_raised() noexcept { return call_of_thread != nullptr && call_of_thread->asks(); }

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// What was on its way out, as the exception that it would have become.
nb::object exception_of(const std::exception_ptr& said) {
  try {
    std::rethrow_exception(said);
  } catch (const Error& error) {
    const nb::object type = nb::module_::import_("weft_attention._errors").attr("WeftError");
    return type(error.what(), error.hint().c_str());
  } catch (...) {
    return nb::none();
  }
}

}  // namespace

struct SignalsOfPython::Shared {
  SignalsHandledElsewhere claim{handler_raised};

  static std::shared_ptr<Shared> get() {
    static std::mutex mutex;
    static std::weak_ptr<Shared> living;
    const std::lock_guard lock(mutex);
    std::shared_ptr<Shared> shared = living.lock();
    if (!shared) {
      shared = std::make_shared<Shared>();
      living = shared;
    }
    return shared;
  }
};

SignalsOfPython::SignalsOfPython() : shared_(Shared::get()), before_(call_of_thread) { call_of_thread = this; }

SignalsOfPython::~SignalsOfPython() { call_of_thread = before_; }

bool SignalsOfPython::asks() noexcept {
  constexpr double kBetween = 0.02;
  const double now = seconds_now();
  if (raised_ || now - asked_ < kBetween) {
    return raised_.has_value();
  }
  asked_ = now;
  const nb::gil_scoped_acquire lock;
  if (PyErr_CheckSignals() != 0) {
    raised_.emplace();  // takes what was raised
  }
  return raised_.has_value();
}

void SignalsOfPython::rethrow(const std::exception_ptr& said) {
  if (!raised_) {
    return;
  }
  if (said) {
    if (const nb::object cause = exception_of(said); !cause.is_none()) {
      PyException_SetCause(raised_->value().ptr(), nb::object(cause).release().ptr());
    }
  }
  throw nb::python_error(std::move(*raised_));
}

PlainTorch::PlainTorch() {
  require(c10::get_default_dtype_as_scalartype() == at::kFloat,
          "torch.set_default_dtype names another dtype than float32, which Weft's models compute with; set float32 "
          "before the call");
}

}  // namespace weft::python
