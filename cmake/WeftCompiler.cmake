# SPDX-License-Identifier: Apache-2.0
# Language level, warnings, sanitizers and the compiler cache, the same for every target.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)

# One code model for library, program and tests: a precompiled header is only reused between equal flags.
add_compile_options(-fPIC)

add_library(weft_flags INTERFACE)
target_compile_options(weft_flags INTERFACE -Wall -Wextra -Wpedantic -Wno-missing-field-initializers)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # GCC 12 reports overlapping copies inside std::string that cannot happen (its bug 105651).
  target_compile_options(weft_flags INTERFACE -Wno-restrict)
endif()
if(WEFT_WERROR)
  target_compile_options(weft_flags INTERFACE -Werror)
endif()
if(WEFT_SANITIZE)
  # Instrumented code defeats these two analyses; the builds without sanitizers keep them.
  target_compile_options(weft_flags INTERFACE -Wno-maybe-uninitialized -Wno-stringop-overflow)
  add_compile_options(-fsanitize=${WEFT_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${WEFT_SANITIZE})
endif()
if(WEFT_COVERAGE)
  add_compile_options(--coverage -fprofile-update=atomic)
  add_link_options(--coverage)
endif()

if(WEFT_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(WEFT_CCACHE_PROGRAM ccache)
  mark_as_advanced(WEFT_CCACHE_PROGRAM)
  if(WEFT_CCACHE_PROGRAM)
    set(CMAKE_CXX_COMPILER_LAUNCHER
        ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_NOHASHDIR=1
        CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} ${WEFT_CCACHE_PROGRAM})
  endif()
endif()
