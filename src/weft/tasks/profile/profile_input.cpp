// SPDX-License-Identifier: Apache-2.0
// Three kinds of models, each with the forms of text that it reads.
#include "weft/tasks/profile/profile_input.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "weft/checkpoint/encoder_decoder/directory.h"
#include "weft/checkpoint/model_directory.h"
#include "weft/core/quote.h"
#include "weft/core/system/option_name.h"
#include "weft/core/system/usage_error.h"
#include "weft/data/text_corpus.h"
#include "weft/data/token_source.h"
#include "weft/generation/settings/read_settings.h"
#include "weft/readers/input/file_kind.h"
#include "weft/readers/squad_reader.h"
#include "weft/tasks/input/pair_source.h"
#include "weft/tasks/input/text_source.h"
#include "weft/tasks/profile/observed_layers.h"
#include "weft/tasks/sequences/sequence_model.h"
#include "weft/text/unknown_tokens.h"

namespace weft::tasks {
namespace {

using checkpoint::Ability;

constexpr std::size_t kRecordsOfAUnit = 64;
// Of a text that an encoder reads in windows: some 16,000 tokens a unit.
constexpr std::int64_t kBytesOfAUnit = std::int64_t{1} << 16;

// The flags that hold texts, by what was given.
struct Given {
  bool text;
  bool data;
  bool pairs;

  explicit Given(const ProfileTexts& texts)
      : text(!texts.text.empty()), data(!texts.data.empty()), pairs(!texts.source.empty() || !texts.target.empty()) {}
};

void require_forms(bool fits, const std::string& name, std::string_view kind, std::string_view forms) {
  if (!fits) {
    throw UsageError(concat(name, " is ", kind, ": it reads ", forms),
                     "give one of these; weft profile --help shows examples");
  }
}

// Before any text is read.
void require_observed(const torch::nn::Module& model, const std::string& name) {
  if (const std::string reason = why_none_observed(model); !reason.empty()) {
    fail(ErrorKind::kUnsupported, name, ": no layer has weights to profile: ", reason);
  }
}

// Without a limit the same documents; `left` counts down.
NextDocuments at_most(std::int64_t most, std::function<std::vector<Document>(std::size_t)> next) {
  auto left = std::make_shared<std::int64_t>(most);
  return [left, most, next = std::move(next)]() -> std::vector<Document> {
    if (most > 0 && *left == 0) {
      return {};
    }
    const std::size_t wanted = most > 0 ? std::min(kRecordsOfAUnit, static_cast<std::size_t>(*left)) : kRecordsOfAUnit;
    std::vector<Document> documents = next(wanted);
    *left -= most > 0 ? std::ssize(documents) : 0;
    return documents;
  };
}

// A text in pieces that end with a line, or with a word, or at least with a character.
class TextPieces {
 public:
  explicit TextPieces(const ProfileTexts& texts) : corpus_(texts.text, texts.max_bytes) {}

  std::vector<Document> next() {
    const std::int64_t count = std::min(kBytesOfAUnit, corpus_.bytes() - read_);
    if (count <= 0) {
      return {};
    }
    std::string piece(static_cast<std::size_t>(count), '\0');
    corpus_.read(read_, count, piece.data());
    if (read_ + count < corpus_.bytes()) {
      piece.resize(end_of_piece(piece));
    }
    Document document;
    document.name = concat("the text from byte ", read_);
    read_ += std::ssize(piece);
    document.first = std::move(piece);
    std::vector<Document> documents;
    documents.push_back(std::move(document));
    return documents;
  }

 private:
  static std::size_t end_of_piece(const std::string& piece) {
    for (const char end : {'\n', ' '}) {
      const std::size_t found = piece.rfind(end);
      if (found != std::string::npos && found > piece.size() / 2) {
        return found + 1;
      }
    }
    std::size_t end = piece.size();
    while (end > 1 && (static_cast<unsigned char>(piece[end - 1]) & 0xC0U) == 0x80U) {
      --end;
    }
    // `end` is behind the first byte of a character now, which may not be whole.
    return end > 1 && static_cast<unsigned char>(piece[end - 1]) >= 0x80U ? end - 1 : end;
  }

  data::TextCorpus corpus_;
  std::int64_t read_ = 0;
};

bool has_questions(const ProfileTexts& texts) {
  const bool is_named = texts.format == "auto" && !texts.data.empty() && texts.data != "-";
  return texts.format == "squad" ||
         (is_named && readers::kind_of_file(texts.data, {texts.text_field, texts.pair_field}).format == "squad");
}

// Questions on paragraphs, as `weft train --task answer` reads them.
NextDocuments questions_of(const ProfileTexts& texts) {
  require(texts.text_field.empty() && texts.pair_field.empty(), "weft profile: ", option("text_field"), " and ",
          option("pair_field"), " are not for ", Quoted(texts.data, 4096), ", whose fields are those of SQuAD");
  auto reader =
      std::make_shared<readers::SquadReader>(texts.data, readers::ReadOptions{}, readers::SquadAnswers::kLeftOut);
  return at_most(texts.examples, [reader, file = quote(texts.data, 4096)](std::size_t count) {
    std::vector<Document> documents;
    readers::Question question;
    while (documents.size() < count && reader->next(question)) {
      documents.push_back({question.question, *question.context, concat(file, " question ", quote(question.id))});
    }
    return documents;
  });
}

NextDocuments records_of(const ProfileTexts& texts) {
  if (has_questions(texts)) {
    return questions_of(texts);
  }
  // The reader refers to its source.
  struct Records {
    TextSource source;
    std::optional<DocumentReader> reader;
  };
  auto records = std::make_shared<Records>();
  records->source.file = texts.data;
  records->source.reading.format = texts.format;
  records->source.reading.pairs = !texts.pair_field.empty();
  records->source.reading.text_field = texts.text_field;
  records->source.reading.pair_field = texts.pair_field;
  check_source(records->source);
  records->reader.emplace(records->source);
  return at_most(texts.examples, [records](std::size_t count) { return records->reader->next(count); });
}

NextDocuments pairs_of(const ProfileTexts& texts) {
  struct Pairs {
    PairSource flags;
    std::optional<PairInput> input;
  };
  auto pairs = std::make_shared<Pairs>();
  pairs->flags.source = texts.source;
  pairs->flags.target = texts.target;
  pairs->flags.file = texts.data;
  pairs->flags.reading.pairs = true;
  pairs->flags.reading.format = texts.format;
  pairs->flags.reading.text_field = texts.text_field.empty() ? "source" : texts.text_field;
  pairs->flags.reading.pair_field = texts.pair_field.empty() ? "target" : texts.pair_field;
  check_pairs(pairs->flags);
  pairs->input.emplace(pairs->flags, false);
  return at_most(texts.examples, [pairs](std::size_t count) { return pairs->input->next(count); });
}

ProfileInput open_pairs(const checkpoint::OpenedModel& directory, const ProfileTexts& texts, const std::string& name) {
  const Given given(texts);
  const bool both = !texts.source.empty() && !texts.target.empty();
  require_forms(!given.text && given.data != given.pairs && (both || !given.pairs), name, "an encoder-decoder",
                concat("pairs of texts, ", option("source"), " FILE and ", option("target"), " FILE, or ",
                       option("data"), " FILE with both"));
  require(texts.format != "squad", name, " is an encoder-decoder; ", option("format"), " squad is for encoders");
  require(texts.stride < 0, "weft profile: ", option("stride"), " is for questions of SQuAD, and these texts are none");
  SequenceModel sequences = describe_sequence_model(directory, texts.context);
  const std::int64_t start = generation::start_token(generation::read_settings(directory), name);
  require(start < directory.facts(Ability::kWrite).writes->vocabulary, name, ": a target starts with token ", start,
          ", which the model does not have");
  NextDocuments pairs = pairs_of(texts);
  const models::EncoderDecoder model = checkpoint::load_encoder_decoder(directory);
  require_observed(*model, name);
  return {"encoder-decoder", model.ptr(),
          pair_units(std::move(sequences), model, start, std::move(pairs),
                     {{texts.batch_size, texts.batch_tokens}, texts.truncate})};
}

ProfileInput open_encoder(const checkpoint::OpenedModel& directory, const ProfileTexts& texts,
                          const std::string& name) {
  const Given given(texts);
  require_forms(!given.pairs && given.text != given.data, name, "an encoder",
                concat(option("text"), " PATH or ", option("data"), " FILE"));
  NextDocuments documents;
  if (given.data) {
    documents = records_of(texts);
  } else {
    documents = [pieces = std::make_shared<TextPieces>(texts)] { return pieces->next(); };
  }
  TaskModelOptions options;
  options.max_length = texts.context;
  const bool has_documents = given.data && has_questions(texts);
  require(has_documents || texts.stride < 0, "weft profile: ", option("stride"),
          " is for questions of SQuAD, and these texts are none");
  require(texts.memory <= 0, "weft profile: ", option("memory"), " is for a model with a memory, and ", name,
          " has none");
  TaskModel model = open_task_model(directory, options);
  const std::shared_ptr<torch::nn::Module> module = model.model.ptr();
  require_observed(*module, name);
  return {"encoder", module,
          document_units(std::move(model), std::move(documents),
                         {{texts.batch_size, texts.batch_tokens}, texts.truncate, has_documents, texts.stride})};
}

ProfileInput open_own(const checkpoint::OpenedModel& directory, const ProfileTexts& texts, const std::string& name) {
  const checkpoint::ReadingFacts facts = directory.facts(Ability::kPredict).reads;
  require(texts.batch_size == ProfileTexts().batch_size, "weft profile: ", option("batch_size"),
          " is for records, and text is computed in pieces of ", option("batch_tokens"));
  const Given given(texts);
  require_forms(given.text && !given.data && !given.pairs, name,
                facts.is_causal ? "a decoder" : "an encoder that was trained here", concat(option("text"), " PATH"));
  const std::unique_ptr<text::Tokenizer> tokenizer = checkpoint::load_tokenizer(directory);
  text::warn_of_small_vocabulary(*tokenizer, facts.vocabulary, name);
  models::LanguageModel model = checkpoint::load_model(directory);
  require_observed(*model, name);
  if (texts.memory >= 0) {
    model->set_memory_length(texts.memory, concat(option("memory")));
  }
  const auto tokens =
      data::tokenize_once(std::make_shared<const data::TextCorpus>(texts.text, texts.max_bytes), *tokenizer);
  const std::int64_t context = texts.context > 0 ? texts.context : facts.longest;
  return {facts.is_causal ? "decoder" : "encoder", model.ptr(),
          token_units(model, tokens, context, texts.batch_tokens)};
}

using OpenInput = ProfileInput (*)(const checkpoint::OpenedModel& directory, const ProfileTexts& texts,
                                   const std::string& name);
constexpr std::array kInputs{checkpoint::Way<OpenInput>{Ability::kWrite, open_pairs},
                             checkpoint::Way<OpenInput>{Ability::kPredict, open_own},
                             checkpoint::Way<OpenInput>{Ability::kRead, open_encoder}};

}  // namespace

ProfileInput open_profile_input(const checkpoint::OpenedModel& directory, const ProfileTexts& texts) {
  return way_of(directory, kInputs)(directory, texts, quote(directory.path().string(), 4096));
}

}  // namespace weft::tasks
