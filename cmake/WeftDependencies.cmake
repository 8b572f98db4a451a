# SPDX-License-Identifier: Apache-2.0
# Libraries other than LibTorch. docs/dependencies.md says why each is here and under which licence.
find_package(Threads REQUIRED)
find_package(nlohmann_json 3.10 REQUIRED)

# Digests of checkpoints: headers only.
find_path(XXHASH_INCLUDE_DIR xxhash.h)
mark_as_advanced(XXHASH_INCLUDE_DIR)
if(NOT XXHASH_INCLUDE_DIR)
  message(FATAL_ERROR "xxHash was not found: run scripts/setup, or install libxxhash-dev.")
endif()
add_library(weft_xxhash INTERFACE)
target_include_directories(weft_xxhash SYSTEM INTERFACE ${XXHASH_INCLUDE_DIR})

# HTTP: headers only, and only server/ sees them. Nothing of Boost is linked.
find_path(BOOST_INCLUDE_DIR boost/beast/version.hpp)
mark_as_advanced(BOOST_INCLUDE_DIR)
if(NOT BOOST_INCLUDE_DIR)
  message(FATAL_ERROR "Boost.Beast was not found: run scripts/setup, or install libboost1.81-dev.")
endif()
file(STRINGS ${BOOST_INCLUDE_DIR}/boost/version.hpp weft_boost REGEX "define BOOST_VERSION ")
string(REGEX MATCH "[0-9]+" weft_boost "${weft_boost}")
if(weft_boost LESS 108100)
  message(FATAL_ERROR "Boost is older than 1.81: run scripts/setup, or install libboost1.81-dev.")
endif()
add_library(weft_beast INTERFACE)
target_include_directories(weft_beast SYSTEM INTERFACE ${BOOST_INCLUDE_DIR})
# Beast 1.81 asserts that a last chunk's head comes in pieces of 5 bytes, which a client decides; nothing depends on it.
target_compile_definitions(weft_beast INTERFACE BOOST_ASIO_NO_DEPRECATED BOOST_ALL_NO_LIB BOOST_DISABLE_ASSERTS)

find_package(ZLIB REQUIRED)
add_library(weft_zlib INTERFACE)
target_link_libraries(weft_zlib INTERFACE ZLIB::ZLIB)

# Pictures as data: only readers/media/png.cpp sees it.
find_package(PNG 1.6 REQUIRED)
add_library(weft_png INTERFACE)
target_link_libraries(weft_png INTERFACE PNG::PNG)

# Models by name: its header only. hub/curl_library.cpp opens the library when a model is downloaded.
find_path(CURL_INCLUDE_DIR curl/curl.h)
mark_as_advanced(CURL_INCLUDE_DIR)
if(NOT CURL_INCLUDE_DIR)
  message(FATAL_ERROR "libcurl's headers were not found: run scripts/setup, or install libcurl4-openssl-dev.")
endif()
add_library(weft_curl INTERFACE)
target_include_directories(weft_curl SYSTEM INTERFACE ${CURL_INCLUDE_DIR})
target_link_libraries(weft_curl INTERFACE ${CMAKE_DL_LIBS})

# One's own texts, and the index of their words: its header only. store/file/sqlite_library.cpp opens the library with the first store.
find_path(SQLITE_INCLUDE_DIR sqlite3.h)
mark_as_advanced(SQLITE_INCLUDE_DIR)
if(NOT SQLITE_INCLUDE_DIR)
  message(FATAL_ERROR "SQLite's header was not found: run scripts/setup, or install libsqlite3-dev.")
endif()
add_library(weft_sqlite INTERFACE)
target_include_directories(weft_sqlite SYSTEM INTERFACE ${SQLITE_INCLUDE_DIR})
target_link_libraries(weft_sqlite INTERFACE ${CMAKE_DL_LIBS})

# Pictures: its headers only. inspect/picture/cairo_library.cpp opens the library with the first one.
find_path(CAIRO_INCLUDE_DIR cairo.h PATH_SUFFIXES cairo)
mark_as_advanced(CAIRO_INCLUDE_DIR)
if(NOT CAIRO_INCLUDE_DIR)
  message(FATAL_ERROR "Cairo's headers were not found: run scripts/setup, or install libcairo2-dev.")
endif()
add_library(weft_cairo INTERFACE)
target_include_directories(weft_cairo SYSTEM INTERFACE ${CAIRO_INCLUDE_DIR})
target_link_libraries(weft_cairo INTERFACE ${CMAKE_DL_LIBS})

# Eigenvalues of graphs: headers only, of Eigen those under MPL-2.0.
find_path(EIGEN_INCLUDE_DIR Eigen/Core PATH_SUFFIXES eigen3)
find_path(SPECTRA_INCLUDE_DIR Spectra/SymEigsSolver.h)
mark_as_advanced(EIGEN_INCLUDE_DIR SPECTRA_INCLUDE_DIR)
if(NOT EIGEN_INCLUDE_DIR OR NOT SPECTRA_INCLUDE_DIR)
  message(FATAL_ERROR "Eigen or Spectra was not found: run scripts/setup, or install libeigen3-dev and libspectra-dev.")
endif()
add_library(weft_spectra INTERFACE)
target_include_directories(weft_spectra SYSTEM INTERFACE ${EIGEN_INCLUDE_DIR} ${SPECTRA_INCLUDE_DIR})
target_compile_definitions(weft_spectra INTERFACE EIGEN_MPL2_ONLY)

if(WEFT_TORCH)
  find_package(CLI11 2.1 REQUIRED)
  # Several processes: LibTorch has Gloo inside but ships none of its headers. Only gloo_group.cpp sees them.
  find_path(GLOO_INCLUDE_DIR gloo/context.h)
  mark_as_advanced(GLOO_INCLUDE_DIR)
  if(NOT GLOO_INCLUDE_DIR)
    message(FATAL_ERROR "Gloo's headers were not found: run scripts/setup, or install libgloo-dev.")
  endif()
endif()
if(WEFT_TESTS)
  find_package(GTest 1.12 REQUIRED)
  find_library(CAIRO_LIBRARY cairo REQUIRED)  # a test reads back what was drawn
  # The project's own environment first, then whatever runs the machine: scripted tests need only the standard library.
  find_program(WEFT_PYTHON python3 HINTS ${PROJECT_SOURCE_DIR}/.venv/bin REQUIRED)
endif()
