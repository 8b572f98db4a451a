// SPDX-License-Identifier: Apache-2.0
// Fields that some kinds of a config have and others have not, held by value without their type: a config that serves
// many families keeps what one of them alone knows in a struct of that family, with a field list like any other.
//
//   config.own = OwnFields(LongformerFields{});
//   config.own.get<LongformerFields>().attention_window = {256};
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "weft/core/fields.h"

namespace weft {

/// A copy of the value is a copy of the fields.
class OwnFields {
 public:
  /// None.
  OwnFields() = default;
  /// `Fields` has a field list (core/fields.h).
  template <typename Fields>
  explicit OwnFields(Fields fields) : held_(std::make_unique<HeldAs<Fields>>(std::move(fields))) {}
  OwnFields(const OwnFields& other) : held_(other.held_ == nullptr ? nullptr : other.held_->copy()) {}
  OwnFields(OwnFields&&) noexcept = default;
  OwnFields& operator=(OwnFields other) noexcept {
    held_ = std::move(other.held_);
    return *this;
  }
  ~OwnFields() = default;

  /// Whether they are those of this type.
  template <typename Fields>
  bool is() const noexcept {
    return dynamic_cast<const HeldAs<Fields>*>(held_.get()) != nullptr;
  }
  /// Errors: std::logic_error where they are another type's, which is a mistake of the program.
  template <typename Fields>
  Fields& get() {
    return as<Fields>(held_.get());
  }
  template <typename Fields>
  const Fields& get() const {
    return as<Fields>(held_.get());
  }

  /// Calls visit(rule, value) for each field, in the order of its list: const FieldRule&, and a reference to the value
  /// in its own type.
  template <typename Visitor>
  void each(const Visitor& visit) {
    if (held_ != nullptr) {
      held_->each([&](const FieldRule& rule, const Place& place) {
        std::visit([&](auto* value) { visit(rule, *value); }, place);
      });
    }
  }
  template <typename Visitor>
  void each(const Visitor& visit) const {
    if (held_ != nullptr) {
      held_->each([&](const FieldRule& rule, const Place& place) {
        std::visit([&](const auto* value) { visit(rule, *value); }, place);
      });
    }
  }
  /// Gives the field of that name the value, where there is one of that type.
  template <typename Value>
  void set(std::string_view name, const Value& given) {
    each([&](const FieldRule& rule, auto& value) {
      if constexpr (std::is_same_v<std::remove_cvref_t<decltype(value)>, Value>) {
        if (rule.name == name) {
          value = given;
        }
      }
    });
  }
  /// Whether there is a field of that name.
  bool has(std::string_view name) const {
    bool found = false;
    each([&](const FieldRule& rule, const auto&) { found = found || rule.name == name; });
    return found;
  }

 private:
  /// Where a value lies; one of the types of Field.
  using Place =
      std::variant<bool*, std::int64_t*, double*, std::string*, std::vector<std::string>*, std::vector<std::int64_t>*>;
  using Visit = std::function<void(const FieldRule&, const Place&)>;

  struct Held {
    Held() = default;
    Held(const Held&) = default;
    Held& operator=(const Held&) = delete;
    virtual ~Held() = default;
    virtual std::unique_ptr<Held> copy() const = 0;
    virtual void each(const Visit& visit) = 0;
  };

  template <typename Fields>
  struct HeldAs final : Held {
    explicit HeldAs(Fields its_fields) : fields(std::move(its_fields)) {}
    std::unique_ptr<Held> copy() const override { return std::make_unique<HeldAs>(fields); }
    void each(const Visit& visit) override {
      Fields::fields([&](const auto& field) { visit(field, Place(&(fields.*field.member))); });
    }
    Fields fields;
  };

  template <typename Fields>
  static Fields& as(Held* held) {
    auto* const found = dynamic_cast<HeldAs<Fields>*>(held);
    if (found == nullptr) {
      throw std::logic_error("a config was asked for fields of another family");
    }
    return found->fields;
  }

  std::unique_ptr<Held> held_;
};

/// Checks every field; `where` names the file or flag group. Errors: kArgument.
inline void check_fields(const OwnFields& own, std::string_view where) {
  own.each([&](const FieldRule& rule, const auto& value) { check_value(rule, value, where); });
}

}  // namespace weft
