// SPDX-License-Identifier: Apache-2.0
// Word by word, then group by group, as in TokenClassificationPipeline.aggregate_words and group_entities.
#include "weft/tasks/decode/entities.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "weft/core/error.h"
#include "weft/core/quote.h"

namespace weft::tasks {
namespace {

std::size_t index_of_largest(const std::vector<double>& scores) {
  return static_cast<std::size_t>(std::max_element(scores.begin(), scores.end()) - scores.begin());
}

Entity entity_of(const TaggedToken& token, std::span<const std::string> labels) {
  const std::size_t label = index_of_largest(token.scores);
  return {labels[label], token.scores[label], token.token, token.offsets, token.byte_offsets, token.index};
}

std::vector<double> mean_scores(std::span<const TaggedToken> word) {
  std::vector<double> mean(word.front().scores.size(), 0.0);
  for (const TaggedToken& token : word) {
    for (std::size_t label = 0; label < mean.size(); ++label) {
      mean[label] += token.scores[label] / static_cast<double>(word.size());
    }
  }
  return mean;
}

const TaggedToken& surest(std::span<const TaggedToken> word) {
  return *std::max_element(word.begin(), word.end(), [](const TaggedToken& left, const TaggedToken& right) {
    return left.scores[index_of_largest(left.scores)] < right.scores[index_of_largest(right.scores)];
  });
}

// The entity that runs from the first to the last of some tokens or entities.
template <typename Part>
Entity spanning(std::span<const Part> parts) {
  Entity entity;
  entity.offsets = {parts.front().offsets.begin, parts.back().offsets.end};
  entity.byte_offsets = {parts.front().byte_offsets.begin, parts.back().byte_offsets.end};
  return entity;
}

Entity entity_of_word(std::span<const TaggedToken> word, std::span<const std::string> labels, Aggregation aggregation,
                      const JoinTokens& join) {
  const std::vector<double> scores = aggregation == Aggregation::kFirst     ? word.front().scores
                                     : aggregation == Aggregation::kAverage ? mean_scores(word)
                                                                            : surest(word).scores;
  Entity entity = spanning(word);
  const std::size_t label = index_of_largest(scores);
  entity.label = labels[label];
  entity.score = scores[label];
  std::vector<std::string> tokens;
  tokens.reserve(word.size());
  for (const TaggedToken& token : word) {
    tokens.push_back(token.token);
  }
  entity.word = join(tokens);
  return entity;
}

std::vector<Entity> entities_of_words(std::span<const TaggedToken> tokens, std::span<const std::string> labels,
                                      Aggregation aggregation, const JoinTokens& join) {
  std::vector<Entity> entities;
  for (std::size_t first = 0; first < tokens.size();) {
    std::size_t last = first + 1;
    while (last < tokens.size() && tokens[last].continues_word) {
      ++last;
    }
    entities.push_back(entity_of_word(tokens.subspan(first, last - first), labels, aggregation, join));
    first = last;
  }
  return entities;
}

// "B-PER" begins PER, "I-PER" and "PER" go on with it.
bool begins(std::string_view label) { return label.starts_with("B-"); }
std::string_view bare(std::string_view label) {
  const bool marked = label.starts_with("B-") || label.starts_with("I-");
  return marked ? label.substr(2) : label;
}

Entity joined_entity(std::span<const Entity> group, const JoinTokens& join) {
  Entity entity = spanning(group);
  // The pipeline's name of a group is what stands behind the first dash, also where that is no "B-" or "I-".
  const std::string& label = group.front().label;
  entity.label = label.substr(label.find('-') + 1);
  std::vector<std::string> words;
  words.reserve(group.size());
  for (const Entity& part : group) {
    entity.score += part.score / static_cast<double>(group.size());
    words.push_back(part.word);
  }
  entity.word = join(words);
  return entity;
}

std::vector<Entity> grouped(std::span<const Entity> entities, const JoinTokens& join) {
  std::vector<Entity> groups;
  for (std::size_t first = 0; first < entities.size();) {
    std::size_t last = first + 1;
    while (last < entities.size() && bare(entities[last].label) == bare(entities[last - 1].label) &&
           !begins(entities[last].label)) {
      ++last;
    }
    groups.push_back(joined_entity(entities.subspan(first, last - first), join));
    first = last;
  }
  return groups;
}

}  // namespace

Aggregation parse_aggregation(std::string_view name) {
  constexpr std::pair<std::string_view, Aggregation> kNames[] = {{"none", Aggregation::kNone},
                                                                 {"simple", Aggregation::kSimple},
                                                                 {"first", Aggregation::kFirst},
                                                                 {"average", Aggregation::kAverage},
                                                                 {"max", Aggregation::kMax}};
  for (const auto& [known, aggregation] : kNames) {
    if (name == known) {
      return aggregation;
    }
  }
  fail(ErrorKind::kArgument, "the aggregation strategy must be none, simple, first, average or max, found ",
       quote(name));
}

std::vector<Entity> aggregate(std::span<const TaggedToken> tokens, std::span<const std::string> labels,
                              Aggregation aggregation, const JoinTokens& join) {
  for (const TaggedToken& token : tokens) {
    require(!labels.empty() && token.scores.size() == labels.size(), "a token has ", token.scores.size(),
            " scores for ", labels.size(), " labels");
  }
  std::vector<Entity> entities;
  if (aggregation == Aggregation::kNone || aggregation == Aggregation::kSimple) {
    for (const TaggedToken& token : tokens) {
      entities.push_back(entity_of(token, labels));
    }
  } else {
    entities = entities_of_words(tokens, labels, aggregation, join);
  }
  return aggregation == Aggregation::kNone ? entities : grouped(entities, join);
}

std::vector<Entity> without_labels(std::vector<Entity> entities, std::span<const std::string> ignored) {
  std::erase_if(entities, [&](const Entity& entity) {
    return std::find(ignored.begin(), ignored.end(), entity.label) != ignored.end();
  });
  return entities;
}

std::vector<Entity> without_overlaps(std::vector<Entity> entities) {
  std::stable_sort(entities.begin(), entities.end(),
                   [](const Entity& left, const Entity& right) { return left.offsets.begin < right.offsets.begin; });
  const auto length = [](const Entity& entity) { return entity.offsets.end - entity.offsets.begin; };
  std::vector<Entity> kept;
  for (Entity& entity : entities) {
    if (kept.empty() || entity.offsets.begin >= kept.back().offsets.end) {
      kept.push_back(std::move(entity));
    } else if (length(entity) > length(kept.back()) ||
               (length(entity) == length(kept.back()) && entity.score > kept.back().score)) {
      kept.back() = std::move(entity);
    }
  }
  return kept;
}

}  // namespace weft::tasks
