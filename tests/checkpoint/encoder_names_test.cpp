// SPDX-License-Identifier: Apache-2.0
// The name maps: every parameter of every family and head has names, no two share one, and nothing else is let through.
#include <gtest/gtest.h>

#include <set>

#include "models/small_encoder.h"
#include "support/expect_error.h"
#include "weft/checkpoint/encoder_names.h"
#include "weft/models/families/encoder_rules.h"

namespace weft::checkpoint {
namespace {

using models::Head;

HuggingFaceNames names_of(const char* family, Head head, const char* parameter, bool prefixed = true) {
  return hugging_face_names(test::small_encoder_config(family), head, parameter, prefixed);
}

TEST(EncoderNames, EveryParameterHasItsOwn) {
  for (const char* family : {"bert", "roberta", "longformer", "big_bird", "nystromformer", "littlebird", "etc",
                             "star_transformer", "xlm-roberta", "camembert", "distilbert", "modernbert", "mpnet",
                             "electra", "nomic_bert", "jina_bert", "eurobert", "esm", "deberta-v2"}) {
    for (const Head head :
         {Head::kNone, Head::kMaskedLanguageModel, Head::kSequenceClassification, Head::kTokenClassification,
          Head::kQuestionAnswering, Head::kMultipleChoice, Head::kReplacedTokens}) {
      if (!models::encoder_rules(family).has_head(head)) {
        continue;
      }
      const models::EncoderModelImpl model(test::small_encoder_config(family), head, {}, at::TensorOptions(at::kMeta));
      std::set<std::string> seen;
      for (const auto& parameter : model.named_parameters()) {
        const HuggingFaceNames names = hugging_face_names(model.config(), head, parameter.key(), true);
        ASSERT_TRUE(!names.parts.empty() && names.parts.size() <= 3) << parameter.key();
        for (const std::string& name : names.parts) {
          EXPECT_TRUE(seen.insert(name).second) << name;
        }
      }
    }
  }
}

TEST(EncoderNames, AreThoseOfTransformers) {
  const HuggingFaceNames fused =
      names_of("longformer", Head::kNone, "encoder.layers.11.attention.global_qkv.bias", false);
  EXPECT_EQ(fused.parts, (std::vector<std::string>{"encoder.layer.11.attention.self.query_global.bias",
                                                   "encoder.layer.11.attention.self.key_global.bias",
                                                   "encoder.layer.11.attention.self.value_global.bias"}));
  EXPECT_EQ(names_of("big_bird", Head::kMaskedLanguageModel, "encoder.layers.0.feed_forward.up.weight").parts.front(),
            "bert.encoder.layer.0.intermediate.dense.weight");
  EXPECT_EQ(names_of("big_bird", Head::kNone, "head.pooler.weight", false).parts.front(), "pooler.weight");
  EXPECT_EQ(names_of("bert", Head::kNone, "head.pooler.weight", false).parts.front(), "pooler.dense.weight");
  EXPECT_EQ(names_of("roberta", Head::kMaskedLanguageModel, "head.norm.bias").parts.front(), "lm_head.layer_norm.bias");
  EXPECT_EQ(names_of("big_bird", Head::kQuestionAnswering, "head.norm.weight").parts.front(),
            "qa_classifier.output.LayerNorm.weight");
  const HuggingFaceNames norm = names_of("bert", Head::kNone, "encoder.embeddings.norm.weight");
  EXPECT_EQ(norm.alternatives, std::vector<std::string>{"bert.embeddings.LayerNorm.gamma"});
  const HuggingFaceNames rows =
      names_of("nystromformer", Head::kNone, "encoder.layers.7.attention.mechanism.convolution");
  EXPECT_EQ(rows.parts, std::vector<std::string>{"nystromformer.encoder.layer.7.attention.self.conv.weight"});
  EXPECT_EQ(rows.ones, (std::vector<std::int64_t>{1, 3}));
  // A mechanism with latents in a family that has none of its own.
  EXPECT_EQ(names_of("bert", Head::kNone, "encoder.layers.3.pack.query.bias").parts.front(),
            "bert.encoder.layers.3.pack.query.bias");
  EXPECT_EQ(names_of("littlebird", Head::kNone, "encoder.layers.3.pack_norm.bias").parts.front(),
            "littlebird.encoder.layer.3.pack.output.LayerNorm.bias");
  EXPECT_EQ(names_of("star_transformer", Head::kNone, "encoder.star.layers.3.ring.key_value.bias").parts,
            (std::vector<std::string>{"star_transformer.encoder.layer.3.ring.key.bias",
                                      "star_transformer.encoder.layer.3.ring.value.bias"}));
  test::expect_error(ErrorKind::kUnsupported, {"family bert", "encoder.embeddings.colours"},
                     [&] { names_of("bert", Head::kNone, "encoder.embeddings.colours"); });
}

TEST(EncoderNames, LetThroughOnlyWhatLosesNothing) {
  const models::EncoderConfig bert = test::small_encoder_config("bert");
  for (const char* name : {"bert.embeddings.position_ids", "embeddings.position_ids", "bert.pooler.dense.weight",
                           "cls.seq_relationship.bias", "cls.predictions.decoder.weight"}) {
    EXPECT_TRUE(is_passed_over(bert, name)) << name;
  }
  for (const char* name :
       {"bert.encoder.layer.2.output.dense.bias", "classifier.weight", "poolers.weight", "cls.predictions.bias"}) {
    EXPECT_FALSE(is_passed_over(bert, name)) << name;
  }
  EXPECT_TRUE(is_of_a_head(bert, "qa_outputs.weight"));
  EXPECT_FALSE(is_of_a_head(bert, "lm_head.bias"));
  EXPECT_TRUE(is_of_a_head(test::small_encoder_config("longformer"), "lm_head.bias"));
}

}  // namespace
}  // namespace weft::checkpoint
