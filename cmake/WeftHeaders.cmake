# SPDX-License-Identifier: Apache-2.0
# Which headers are installed: the public ones listed here, and what they include. The rest may change at any time.
set(WEFT_PUBLIC_HEADERS
    core/cpu.h core/error.h core/fields.h core/files.h core/interrupt.h core/log.h core/progress.h core/random.h core/version.h
    pattern/build.h pattern/layout.h pattern/pattern.h pattern/syntax.h
    inspect/cost/layout_work.h inspect/cost/model_cost.h inspect/graph/statistics.h inspect/graph/sweep.h inspect/picture/canvas.h
    inspect/picture/picture.h inspect/picture/plot.h inspect/picture/terminal.h
    kernels/arguments.h kernels/fused.h kernels/workspace.h
    formats/config_json.h formats/event_file.h formats/npy.h formats/safetensors.h formats/tensor_file.h
    text/hugging_face.h text/pair/pair_tokenizer.h text/sentences/sentences.h text/stream_decoder.h text/tokenizer.h text/train_tokenizer.h
    readers/conll_reader.h readers/fasta_reader.h readers/file_list.h readers/genome_documents.h readers/json_lines_reader.h
    readers/reader.h readers/squad_reader.h readers/table_reader.h readers/text_reader.h
    metrics/answers.h metrics/classification.h metrics/correlation.h metrics/entities.h metrics/likelihood.h metrics/roc_auc.h
    metrics/summary/rouge.h metrics/translation/alignment_error.h metrics/translation/bleu.h metrics/translation/chrf.h
    profile/attention_profile.h)
set(WEFT_PUBLIC_TORCH_HEADERS
    attention/attend.h attention/attention.h attention/global_projection.h attention/mechanism.h attention/profile/attention_observer.h
    layers/attention/cross_attention.h layers/attention/self_attention.h layers/linear.h layers/linear_cross_entropy.h layers/precision.h
    layers/blocks/companion_block.h layers/blocks/compressive_block.h layers/blocks/packed_block.h layers/blocks/plain_block.h
    layers/blocks/star_block.h layers/etc/etc_companions.h layers/etc/sentence_structure.h
    models/encoder_decoder.h models/encoder_model.h models/families/encoder_rules.h models/language_model.h models/stack/stack.h models/transformer_config.h
    models/families/families.h models/families/pair_rules.h
    checkpoint/encoder_decoder/convert.h checkpoint/encoder_decoder/directory.h
    checkpoint/encoder_directory.h checkpoint/model_directory.h checkpoint/open_model.h checkpoint/tensors.h
    data/masking.h data/text_corpus.h data/window_sampler.h
    generation/generate.h generation/pair_decoder.h generation/settings/read_settings.h
    training/optimizers/optimizer.h training/optimizers/parameter_groups.h training/processes/process_group.h training/run_directory.h
    training/trainer.h training/train_language_model.h
    tasks/answer.h tasks/choose.h tasks/classify.h tasks/embedding/embedder.h tasks/fill_mask.h tasks/rerank.h tasks/tag.h tasks/task_run.h
    fine_tuning/fine_tune.h fine_tuning/objective.h)

# Writes into `result` the given headers and every header of Weft that they include, as paths below src/weft, sorted.
function(weft_header_closure result)
  set(waiting ${ARGN})
  set(seen "")
  while(waiting)
    list(POP_FRONT waiting header)
    if(header IN_LIST seen)
      continue()
    endif()
    list(APPEND seen ${header})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/weft/${header})
    file(STRINGS ${PROJECT_SOURCE_DIR}/src/weft/${header} lines REGEX "^#include \"weft/")
    foreach(line IN LISTS lines)
      string(REGEX REPLACE "^#include \"weft/([^\"]+)\".*" "\\1" included ${line})
      list(APPEND waiting ${included})
    endforeach()
  endwhile()
  list(SORT seen)
  set(${result} ${seen} PARENT_SCOPE)
endfunction()

weft_header_closure(weft_core_headers ${WEFT_PUBLIC_HEADERS})
set(weft_torch_headers "")
if(WEFT_TORCH)
  weft_header_closure(weft_torch_headers ${WEFT_PUBLIC_TORCH_HEADERS})
  list(REMOVE_ITEM weft_torch_headers ${weft_core_headers})
endif()
