# SPDX-License-Identifier: Apache-2.0
# Every tests/fuzz/<name>_fuzz.cpp, in folders too, as a program fuzz_<name> that a test run drives for a few seconds over tests/fuzz/corpus/<name>.
# Clang brings the fuzzing engine; for other compilers tests/fuzz/driver.cpp stands in.
function(weft_fuzzers)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/fuzz/*_fuzz.cpp ${PROJECT_SOURCE_DIR}/tests/fuzz/*/*_fuzz.cpp)
  weft_rooms_up_to(requests rooms)
  set(options "abort_on_error=1:allocator_may_return_null=1:max_allocation_size_mb=2048")
  foreach(source IN LISTS sources)
    cmake_path(GET source STEM stem)
    string(REGEX REPLACE "_fuzz$" "" name ${stem})
    set(corpus ${PROJECT_SOURCE_DIR}/tests/fuzz/corpus/${name})
    add_executable(fuzz_${name} ${source})
    target_link_libraries(fuzz_${name} PRIVATE ${rooms} weft_flags)
    target_include_directories(fuzz_${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
    if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
      target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
      set(command fuzz_${name} -max_total_time=${WEFT_FUZZ_SECONDS} ${PROJECT_BINARY_DIR}/corpus/${name} ${corpus})
      file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/corpus/${name} ${corpus})
    else()
      target_sources(fuzz_${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests/fuzz/driver.cpp)
      set(command fuzz_${name} --seconds=${WEFT_FUZZ_SECONDS} ${corpus})
    endif()
    add_test(NAME fuzz.${name} COMMAND ${command})
    set_tests_properties(fuzz.${name} PROPERTIES LABELS fuzz TIMEOUT 120
                         ENVIRONMENT "ASAN_OPTIONS=${options};UBSAN_OPTIONS=abort_on_error=1:print_stacktrace=1")
  endforeach()
  # Rooms that see LibTorch have readers that do not: these files are compiled here by themselves.
  set(rooms ${PROJECT_SOURCE_DIR}/src/weft)
  target_sources(fuzz_model_config PRIVATE ${rooms}/checkpoint/model_kind.cpp ${rooms}/training/run_directory.cpp
                 ${rooms}/training/run/checkpoint_manifest.cpp)
  target_sources(fuzz_sentence PRIVATE ${rooms}/checkpoint/sentence/sentence_settings.cpp)
  target_sources(fuzz_processes PRIVATE ${rooms}/training/processes/environment.cpp)
endfunction()
