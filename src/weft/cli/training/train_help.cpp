// SPDX-License-Identifier: Apache-2.0
// A first run of a task needs its data, a length and a place; the flags that people turn next stand beside them.
#include "weft/cli/training/train_help.h"

#include <string>
#include <vector>

#include "weft/cli/front/short_help.h"

namespace weft::cli {
namespace {

using Flags = std::vector<std::string>;

Flags joined_flags(Flags flags, const Flags& more) {
  flags.insert(flags.end(), more.begin(), more.end());
  return flags;
}

// Of every task.
const Flags kEveryRun = {"--out",           "--resume",     "--task",       "--steps", "--minutes",
                         "--learning-rate", "--batch-size", "--eval-every", "--dtype", "--seed",
                         "--best-metric",   "--threads",    "--json"};
const Flags kFineTuning = {"--model",    "--train-data", "--eval-data", "--epochs",  "--max-length",
                           "--truncate", "--folds",      "--fold",      "--on-error"};
const Flags kShape = {"--attention", "--layers", "--width", "--heads"};

ShortHelp fine_tuning_help(const Flags& own, std::string examples) {
  return {.flags = joined_flags(joined_flags(kEveryRun, kFineTuning), own), .examples = std::move(examples)};
}

void show_text_tasks(CLI::App& app) {
  const Flags text =
      joined_flags(joined_flags(kEveryRun, kShape), {"--train-text", "--eval-text", "--context", "--tokenizer",
                                                     "--position-embedding", "--memory", "--gradient-checkpointing"});
  show_first_where(
      app, "--task", "lm",
      {.flags = text,
       .examples =
           "  weft train --train-text books/train --eval-text books/val --minutes 5 --out run\n"
           "  weft train --train-text books/train --attention 'strided(256)' --context 4096 --layers 6 --width 256 "
           "--heads 4 --minutes 30 --out run\n"});
  show_first_where(
      app, "--task", "mlm",
      {.flags = joined_flags(text, {"--model", "--mask-probability", "--masking"}),
       .examples = "  weft train --task mlm --train-text books/train --eval-text books/val --minutes 5 --out run\n"
                   "  weft train --task mlm --model bert-base-uncased --train-text reports/ --steps 2000 --out run\n"});
}

void show_tasks_of_labels(CLI::App& app) {
  const Flags texts = {"--text-field", "--label-field", "--pair-field", "--format", "--class-weights"};
  show_first_where(
      app, "--task", "classify",
      fine_tuning_help(joined_flags(texts, {"--problem-type"}),
                       "  weft train --task classify --model bert-base-uncased --train-data train.csv --eval-data "
                       "test.csv --epochs 3 --out run\n"
                       "  weft train --task classify --model bert-base-uncased --train-data reviews.csv --text-field "
                       "review --label-field stars --folds 5 --epochs 3 --out run\n"));
  show_first_where(app, "--task", "multilabel",
                   fine_tuning_help(joined_flags(texts, {"--label-groups", "--both-strands"}),
                                    "  weft train --task multilabel --model bert-base-uncased --train-data train.csv "
                                    "--label-field 'topic_*' --eval-data test.csv --epochs 3 --out run\n"));
  show_first_where(app, "--task", "tag",
                   fine_tuning_help({"--stride", "--class-weights"},
                                    "  weft train --task tag --model bert-base-cased --train-data train.conll "
                                    "--eval-data dev.conll --epochs 3 --out run\n"));
  show_first_where(app, "--task", "answer",
                   fine_tuning_help({"--stride", "--max-answer-length", "--null-threshold"},
                                    "  weft train --task answer --model bert-base-cased --train-data train-v2.0.json "
                                    "--eval-data dev-v2.0.json --epochs 2 --out run\n"));
  show_first_where(app, "--task", "choose",
                   fine_tuning_help({},
                                    "  weft train --task choose --model bert-base-cased --train-data train.jsonl "
                                    "--eval-data dev.jsonl --epochs 3 --out run\n"));
}

void show_tasks_of_open_answers(CLI::App& app) {
  show_first_where(app, "--task", "hotpotqa",
                   fine_tuning_help({"--max-length", "--truncate", "--max-answer-length"},
                                    "  weft train --task hotpotqa --model longformer-base-4096 --train-data "
                                    "hotpot_train.json --eval-data hotpot_dev.json --epochs 5 --out run\n"));
  show_first_where(
      app, "--task", "nq",
      fine_tuning_help({"--max-length", "--stride", "--max-answer-length"},
                       "  weft train --task nq --model longformer-base-4096 --train-data nq-train.jsonl.gz "
                       "--eval-data nq-dev.jsonl.gz --stride 2048 --max-answer-length 38 --epochs 1 "
                       "--out run\n"));
  show_first_where(app, "--task", "triviaqa",
                   fine_tuning_help({"--max-length", "--stride", "--max-answer-length"},
                                    "  weft train --task triviaqa --model longformer-base-4096 --train-data "
                                    "qa/wikipedia-train.json --eval-data qa/wikipedia-dev.json --preset "
                                    "longformer-triviaqa --out run\n"));
  show_first_where(app, "--task", "wikihop",
                   fine_tuning_help({"--max-length", "--truncate"},
                                    "  weft train --task wikihop --model longformer-base-4096 --train-data train.json "
                                    "--eval-data dev.json --preset longformer-wikihop --out run\n"));
}

void show_tasks_of_queries(CLI::App& app) {
  const Flags texts = {"--text-field", "--pair-field", "--negative-field", "--label-field",
                       "--score-max",  "--loss",       "--format",         "--mini-batch-tokens"};
  show_first_where(
      app, "--task", "embed",
      fine_tuning_help(joined_flags(texts, {"--similarity-scale", "--symmetric", "--matryoshka-dims",
                                            "--matryoshka-weights", "--query-prompt", "--document-prompt"}),
                       "  weft train --task embed --model all-MiniLM-L6-v2 --train-data questions.jsonl --eval-data "
                       "dev.jsonl --batch-size 256 --epochs 1 --best-metric ndcg_at_10 --out run\n"
                       "  weft train --task embed --model bert-base-uncased --train-data sts-train.tsv --eval-data "
                       "sts-dev.tsv --score-max 5 --epochs 4 --out run\n"));
  show_first_where(app, "--task", "rerank",
                   fine_tuning_help(texts,
                                    "  weft train --task rerank --model bert-base-uncased --train-data train.jsonl "
                                    "--eval-data dev.jsonl --epochs 1 --best-metric ndcg_at_10 --out run\n"));
}

void show_pair_task(CLI::App& app, const std::string& task, std::string examples) {
  show_first_where(app, "--task", task,
                   {.flags = joined_flags(joined_flags(kEveryRun, kShape),
                                          {"--train-source", "--train-target", "--eval-source", "--eval-target",
                                           "--train-data", "--eval-data", "--source-field", "--target-field", "--model",
                                           "--tokenizer", "--vocabulary-size", "--epochs", "--truncate",
                                           "--max-source-length", "--max-target-length", "--generated-examples"}),
                    .examples = std::move(examples)});
}

void show_denoising(CLI::App& app) {
  show_first_where(
      app, "--task", "denoise",
      {.flags = joined_flags(joined_flags(kEveryRun, kShape),
                             {"--train-text", "--eval-text", "--train-data", "--eval-data", "--source-field", "--noise",
                              "--noise-share", "--noise-span", "--gap-choice", "--model", "--tokenizer",
                              "--vocabulary-size", "--epochs", "--max-source-length", "--max-target-length"}),
       .examples = "  weft train --task denoise --noise gap-sentences --train-text books/train --eval-text books/val "
                   "--minutes 15 --out start\n"
                   "  weft train --task summarize --model start --train-data news.jsonl --minutes 60 --out run\n"});
}

}  // namespace

void show_train_help(CLI::App& app) {
  show_first(app, {.flags = {"--out",        "--task",      "--model",        "--train-text",    "--eval-text",
                             "--train-data", "--eval-data", "--train-source", "--train-target",  "--steps",
                             "--epochs",     "--minutes",   "--attention",    "--context",       "--layers",
                             "--width",      "--heads",     "--tokenizer",    "--learning-rate", "--batch-size",
                             "--dtype",      "--seed",      "--resume",       "--json"},
                   .rows = {{"--task lm (the default)", "a decoder, from --train-text"},
                            {"--task mlm", "an encoder that fills in masked words, from --train-text"},
                            {"--task classify, multilabel", "labels of texts, from --model and --train-data FILE.csv"},
                            {"--task tag", "entities in texts, from --model and --train-data FILE.conll"},
                            {"--task answer, choose",
                             "answers in documents, or among choices, from --model and "
                             "--train-data FILE.json"},
                            {"--task embed, rerank",
                             "vectors of texts, or scores of pairs, from --model and --train-data FILE.jsonl"},
                            {"--task translate, summarize", "texts from texts, from --train-source and --train-target"},
                            {"--task denoise", "an encoder-decoder that repairs texts, from --train-text"}},
                   .examples = "  weft train --train-text books/train --eval-text books/val --minutes 5 --out run\n"
                               "  weft train --task classify --model bert-base-uncased --train-data train.csv "
                               "--eval-data test.csv --epochs 3 --out run\n"
                               "  weft train --task translate --train-source train.de --train-target train.en "
                               "--minutes 20 --out run\n"
                               "  weft train --resume --out run\n"});
  show_text_tasks(app);
  show_tasks_of_labels(app);
  show_tasks_of_open_answers(app);
  show_tasks_of_queries(app);
  show_pair_task(app, "translate",
                 "  weft train --task translate --train-source train.de --train-target train.en --eval-source val.de "
                 "--eval-target val.en --minutes 20 --out run\n");
  show_pair_task(app, "summarize",
                 "  weft train --task summarize --train-data news.jsonl --source-field article --target-field "
                 "highlights --minutes 60 --out run\n");
  show_denoising(app);
}

}  // namespace weft::cli
