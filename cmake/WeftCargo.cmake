# SPDX-License-Identifier: Apache-2.0
# rust/tokenizers-c as the static library weft_tokenizers, built by Cargo from its lock file. All builds of one tree share one Cargo
# directory, and so does every preset: it takes minutes the first time.
set(weft_cargo ${PROJECT_SOURCE_DIR}/scripts/cargo)
execute_process(COMMAND ${weft_cargo} --version RESULT_VARIABLE weft_cargo_failed OUTPUT_QUIET ERROR_VARIABLE weft_cargo_says)
if(weft_cargo_failed)
  message(FATAL_ERROR "${weft_cargo_says}")
endif()
set(WEFT_CARGO_DIR ${PROJECT_SOURCE_DIR}/build/cargo CACHE PATH "Where Cargo builds rust/tokenizers-c")

set(weft_crate ${PROJECT_SOURCE_DIR}/rust/tokenizers-c)
set(weft_archive ${WEFT_CARGO_DIR}/release/libweft_tokenizers.a)
file(GLOB weft_rust CONFIGURE_DEPENDS ${weft_crate}/src/*.rs)
add_custom_command(
  OUTPUT ${weft_archive}
  COMMAND ${CMAKE_COMMAND} -E env --unset=CXXFLAGS --unset=CFLAGS ${weft_cargo} build --quiet --release --locked
          --manifest-path ${weft_crate}/Cargo.toml --target-dir ${WEFT_CARGO_DIR}
  COMMAND ${CMAKE_COMMAND} -E touch ${weft_archive}
  DEPENDS ${weft_rust} ${weft_crate}/Cargo.toml ${weft_crate}/Cargo.lock
  COMMENT "Building the tokenizers crate with Cargo" VERBATIM)
add_custom_target(weft_tokenizers_build DEPENDS ${weft_archive})
add_library(weft_tokenizers INTERFACE)
# Ninja sees that what is linked needs the archive, and compiles C++ meanwhile; with a dependency of targets everything that is compiled
# against the room `text` would wait for Cargo.
if(NOT CMAKE_GENERATOR MATCHES Ninja)
  add_dependencies(weft_tokenizers weft_tokenizers_build)
endif()
target_link_libraries(weft_tokenizers INTERFACE ${weft_archive} Threads::Threads ${CMAKE_DL_LIBS} m)
# What the archive brings along stays inside of libweft.
target_link_options(weft_tokenizers INTERFACE -Wl,--exclude-libs,libweft_tokenizers.a)
