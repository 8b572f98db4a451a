// SPDX-License-Identifier: Apache-2.0
// weft::Error as the exceptions of weft_attention._errors, with the place in an expression where there is one.
#include <nanobind/nanobind.h>

#include <exception>

#include "bindings.h"
#include "weft/core/error.h"
#include "weft/pattern/expression_error.h"

namespace weft::python {
namespace {

namespace nb = nanobind;

const char* class_for(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kArgument:
      return "ArgumentError";
    case ErrorKind::kExpression:
      return "PatternError";
    case ErrorKind::kUnsupported:
      return "UnsupportedError";
    default:
      return "WeftError";
  }
}

void raise(const Error& error) {
  const nb::object type = nb::module_::import_("weft_attention._errors").attr(class_for(error.kind()));
  const auto* placed = dynamic_cast<const pattern::ExpressionError*>(&error);
  const nb::object exception = placed != nullptr && error.kind() == ErrorKind::kExpression
                                   ? type(error.what(), error.hint().c_str(), placed->line(), placed->column())
                                   : type(error.what(), error.hint().c_str());
  PyErr_SetObject(type.ptr(), exception.ptr());
}

}  // namespace

void translate_errors() {
  nb::register_exception_translator([](const std::exception_ptr& exception, void*) {
    try {
      std::rethrow_exception(exception);
    } catch (const Error& error) {
      raise(error);
    }
  });
}

}  // namespace weft::python
