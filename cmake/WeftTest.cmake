# SPDX-License-Identifier: Apache-2.0
# weft_room_tests(room): tests/<room>/*_test.cpp as one program test_<room> and one CTest entry with the labels <room> and `cases`:
# scripts/run-tests runs its cases, each with a name and a limit. What they need for one instruction set is in files named by it, as in
# WeftIsa.cmake, and what stands in for a device in emulated_*.cpp. tests/<room>/*_test.py as one CTest entry a file. Scripts get WEFT_BINARY, WEFT_FORK (tests/support/forked.py), WEFT_TEST_DATA_DIR
# and WEFT_SOURCE_DIR.

# Helpers that the tests of all rooms share; the part that names LibTorch is its own library.
file(GLOB weft_support CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/support/*.cpp)
set(weft_support_torch ${weft_support})
list(FILTER weft_support EXCLUDE REGEX "/torch_[^/]*\\.cpp$")
list(FILTER weft_support_torch INCLUDE REGEX "/torch_[^/]*\\.cpp$")
# References that are made of layers: compiled once, for the rooms that see layers.
file(GLOB weft_support_layers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/support/layers/*.cpp)

# Gives a test target the includes, definitions and flags that all tests have.
function(weft_test_settings target torch)
  set(sanitized false)
  if(WEFT_SANITIZE)
    set(sanitized true)
  endif()
  target_link_libraries(${target} PRIVATE weft_flags GTest::gtest GTest::gtest_main)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/tests)
  target_compile_definitions(${target} PRIVATE WEFT_TEST_DATA_DIR="${PROJECT_SOURCE_DIR}/tests/fixtures"
                             WEFT_SANITIZED=${sanitized})
  target_compile_options(${target} PRIVATE -ffp-contract=off)
  # A test calls and compares, and what it calls has its own flags. Under asan -O0 compiles tests in 0.4 of the time (under tsan they then run
  # as much longer), and where LibTorch is seen -O1 takes 0.8 of the time of -O2.
  if(WEFT_SANITIZE MATCHES "address")
    target_compile_options(${target} PRIVATE -O0)
  elseif(torch)
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
  endif()
  if(torch AND WEFT_PCH)
    target_precompile_headers(${target} REUSE_FROM weft_pch)
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${WEFT_UNITY} UNITY_BUILD_BATCH_SIZE 12)
endfunction()

if(WEFT_TORCH)
  add_library(weft_support_layers STATIC EXCLUDE_FROM_ALL ${weft_support_layers})
  target_include_directories(weft_support_layers PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(weft_support_layers PRIVATE weft_torch)
  weft_test_settings(weft_support_layers ON)
endif()

# The kernels for GPUs on emulated lanes take long to compile: once, for the tests of kernels and for a library in place of libweft_cuda.
set(weft_emulated ${PROJECT_SOURCE_DIR}/tests/kernels/cuda)
add_library(weft_emulated_passes OBJECT ${weft_emulated}/emulated_forward.cpp ${weft_emulated}/emulated_backward.cpp
                                        ${weft_emulated}/emulated_elements.cpp)
target_include_directories(weft_emulated_passes PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/tests)
target_compile_options(weft_emulated_passes PRIVATE -ffp-contract=off)
target_link_libraries(weft_emulated_passes PRIVATE weft_flags)

function(weft_room_tests room)
  get_property(torch_rooms GLOBAL PROPERTY WEFT_TORCH_ROOMS)
  list(FIND torch_rooms ${room} torch)
  math(EXPR torch "${torch} + 1")
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/${room}/*_test.cpp ${PROJECT_SOURCE_DIR}/tests/${room}/*/*_test.cpp)
  weft_rooms_up_to(${room} rooms)
  file(GLOB isa_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/${room}/*_avx2.cpp ${PROJECT_SOURCE_DIR}/tests/${room}/*_avx512.cpp
                                          ${PROJECT_SOURCE_DIR}/tests/${room}/*_avx512bf16.cpp)
  weft_isa_flags(isa_sources)
  set(emulated "")
  if(room STREQUAL "kernels")
    set(emulated ${weft_emulated}/emulated_call.cpp $<TARGET_OBJECTS:weft_emulated_passes>)
  endif()
  if(sources AND rooms)
    add_executable(test_${room} ${sources} ${isa_sources} ${emulated} ${weft_support})
    if(torch)
      target_sources(test_${room} PRIVATE ${weft_support_torch})
    endif()
    target_link_libraries(test_${room} PRIVATE ${rooms})
    if("weft_layers" IN_LIST rooms)
      target_link_libraries(test_${room} PRIVATE weft_support_layers)
    endif()
    weft_test_settings(test_${room} ${torch})
    add_test(NAME ${room}.cases COMMAND test_${room})
    set_tests_properties(${room}.cases PROPERTIES LABELS "${room};cases" TIMEOUT 1800
                         ENVIRONMENT "LSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/tests/leaks.txt:print_suppressions=0")
  endif()
  weft_script_tests(${room})
endfunction()

# Scripts look at what people run; a build with sanitizers or coverage is not that (its inline functions stay functions, for one).
function(weft_script_tests room)
  if(WEFT_SANITIZE OR WEFT_COVERAGE)
    return()
  endif()
  set(fork)
  if(WEFT_TORCH)
    set(fork "WEFT_FORK=${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/test_fork;")
  endif()
  file(GLOB scripts CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/${room}/*_test.py)
  foreach(script IN LISTS scripts)
    cmake_path(GET script STEM stem)
    add_test(NAME ${room}.${stem} COMMAND ${WEFT_PYTHON} ${script})
    # Scripts take longest: begun first, so that no core waits for the last one.
    set_tests_properties(${room}.${stem} PROPERTIES LABELS ${room} TIMEOUT 600 COST 100 ENVIRONMENT
      "WEFT_BINARY=${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/weft;${fork}WEFT_TEST_DATA_DIR=${PROJECT_SOURCE_DIR}/tests/fixtures;WEFT_SOURCE_DIR=${PROJECT_SOURCE_DIR};PYTHONDONTWRITEBYTECODE=1")
  endforeach()
endfunction()
