// SPDX-License-Identifier: Apache-2.0
// A command with a short help has a formatter of its own, which leaves out what is not in the list.
#include "weft/cli/front/short_help.h"

#include <algorithm>
#include <map>
#include <memory>

#include "weft/cli/front/help.h"
#include "weft/cli/front/words/brackets.h"
#include "weft/core/error.h"

namespace weft::cli {
namespace {

class ShortHelpFormatter final : public HelpFormatter {
 public:
  explicit ShortHelpFormatter(const CLI::App& owner) : owner_(&owner) {}

  const CLI::App* owner() const { return owner_; }
  void add(const ShortHelp& more) {
    usual_.flags.insert(usual_.flags.end(), more.flags.begin(), more.flags.end());
    usual_.rows.insert(usual_.rows.end(), more.rows.begin(), more.rows.end());
    usual_.examples += more.examples;
  }
  void add_where(const std::string& flag, const std::string& value, const ShortHelp& shown) {
    chooser_ = flag;
    chosen_[value] = shown;
  }

  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override {
    // Commands below this one inherit its formatter, and show everything.
    shown_ = app == owner_ && mode == CLI::AppFormatMode::Normal ? &shown() : nullptr;
    std::string text = HelpFormatter::make_help(app, std::move(name), mode);
    shown_ = nullptr;
    // CLI11 puts a blank line behind a group of which nothing is shown, too.
    for (std::size_t blank = text.find("\n\n\n"); blank != std::string::npos; blank = text.find("\n\n\n", blank)) {
      text.erase(blank, 1);
    }
    return text;
  }

  std::string make_usage(const CLI::App* app, std::string name) const override {
    std::string text = HelpFormatter::make_usage(app, std::move(name));
    if (shown_ != nullptr && !shown_->rows.empty()) {
      text += '\n';
      for (const auto& [row, about] : shown_->rows) {
        text += two_columns(row, about, help_width());
      }
    }
    return text;
  }

  std::string make_group(std::string group, bool is_positional,
                         std::vector<const CLI::Option*> options) const override {
    if (shown_ != nullptr && !is_positional) {
      std::erase_if(options, [this](const CLI::Option* option) { return !shows(*option); });
    }
    return options.empty() ? std::string() : HelpFormatter::make_group(std::move(group), is_positional, options);
  }

  std::string make_option(const CLI::Option* option, bool is_positional) const override {
    return option == owner_->get_help_all_ptr() ? written_option(option, is_positional)
                                                : HelpFormatter::make_option(option, is_positional);
  }

  std::string make_footer(const CLI::App* app) const override {
    if (shown_ == nullptr) {
      return HelpFormatter::make_footer(app);
    }
    const std::string command = command_path(*app);
    const std::size_t all = app->get_options([](const CLI::Option* option) { return option->nonpositional(); }).size();
    std::string more = concat("These are the usual flags. `", command, " --help-all` shows all ", all);
    if (!chosen_.empty()) {
      more += concat(", and `", command, " ", chooser_, " ", chosen_.begin()->first, " --help` those of one task");
    }
    const std::string examples = shown_->examples.empty() ? app->get_footer() : "Examples:\n" + shown_->examples;
    return wrapped_text(more + ".\n\n" + examples, help_width()) + "\n";
  }

 private:
  // By the value of the flag that chooses, if it was given.
  const ShortHelp& shown() const {
    const CLI::Option* const chooser = chooser_.empty() ? nullptr : owner_->get_option_no_throw(chooser_);
    if (chooser != nullptr && chooser->count() > 0) {
      const auto found = chosen_.find(unmarked(chooser->results().front()));
      return found == chosen_.end() ? usual_ : found->second;
    }
    return usual_;
  }

  bool shows(const CLI::Option& option) const {
    const bool is_help = &option == owner_->get_help_ptr() || &option == owner_->get_help_all_ptr();
    return is_help || option.get_required() ||
           std::ranges::any_of(option.get_lnames(), [this](const std::string& name) {
             return std::ranges::find(shown_->flags, "--" + name) != shown_->flags.end();
           });
  }

  const CLI::App* owner_;
  ShortHelp usual_;
  std::string chooser_;
  std::map<std::string, ShortHelp> chosen_;
  mutable const ShortHelp* shown_ = nullptr;  // while a help is made that is short
};

// The command's own; one that it inherited is of the command above it.
ShortHelpFormatter& formatter_of(CLI::App& app) {
  auto own = std::dynamic_pointer_cast<ShortHelpFormatter>(app.get_formatter());
  if (!own || own->owner() != &app) {
    own = std::make_shared<ShortHelpFormatter>(app);
    app.formatter(own);
  }
  return *own;
}

void check_names(const CLI::App& app, const ShortHelp& shown) {
  for (const std::string& flag : shown.flags) {
    require(app.get_option_no_throw(flag) != nullptr, "the short help of weft ", app.get_name(), " names ", flag,
            ", which the command does not have");
  }
}

}  // namespace

std::vector<std::string> flags_so_far(const CLI::App& app) {
  std::vector<std::string> flags;
  for (const CLI::Option* option : app.get_options([](const CLI::Option* one) { return one->nonpositional(); })) {
    if (!option->get_lnames().empty()) {
      flags.push_back("--" + option->get_lnames().front());
    }
  }
  return flags;
}

void show_first(CLI::App& app, const ShortHelp& shown) {
  check_names(app, shown);
  formatter_of(app).add(shown);
}

void show_first_where(CLI::App& app, const std::string& flag, const std::string& value, const ShortHelp& shown) {
  check_names(app, shown);
  formatter_of(app).add_where(flag, value, shown);
}

}  // namespace weft::cli
