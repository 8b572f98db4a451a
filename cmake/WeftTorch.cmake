# SPDX-License-Identifier: Apache-2.0
# weft_find_torch(problem [PREFIXES ...]): LibTorch as the target weft::torch, or in `problem` why not. The wheel's own package file insists
# on a CUDA toolkit, so the libraries are imported by hand. Looked for in CMAKE_PREFIX_PATH (a torch package, an unpacked libtorch, a
# site-packages folder), then in PREFIXES. The minimum is what CI builds with (scripts/requirements-libtorch.txt). Both Weft's own build and
# find_package(weft) read this file.
set(WEFT_TORCH_MINIMUM 2.15)
option(WEFT_OLDER_TORCH "Try a LibTorch that is older than what Weft is tested with" OFF)

# Writes into `result` the folders in which a `torch` or `libtorch` tree may lie, best first.
function(weft_torch_candidates result)
  set(prefixes ${CMAKE_PREFIX_PATH})
  if(DEFINED ENV{CMAKE_PREFIX_PATH})
    string(REPLACE ":" ";" from_environment "$ENV{CMAKE_PREFIX_PATH}")
    list(APPEND prefixes ${from_environment})
  endif()
  list(APPEND prefixes ${ARGN})
  set(found "")
  foreach(prefix IN LISTS prefixes)
    file(GLOB nested ${prefix}/lib/python3*/site-packages/torch)
    list(APPEND found ${prefix} ${prefix}/torch ${prefix}/libtorch ${nested})
  endforeach()
  set(${result} ${found} PARENT_SCOPE)
endfunction()

# Writes into `result` the version that the headers below `include` declare, or nothing.
function(weft_torch_version include result)
  set(version "")
  foreach(header torch/headeronly/version.h torch/csrc/api/include/torch/version.h)
    if(NOT version AND EXISTS ${include}/${header})
      file(STRINGS ${include}/${header} lines REGEX "define TORCH_VERSION_(MAJOR|MINOR|PATCH)")
      string(REGEX REPLACE ".*MAJOR ([0-9]+).*MINOR ([0-9]+).*PATCH ([0-9]+).*" "\\1.\\2.\\3" version "${lines}")
    endif()
  endforeach()
  set(${result} "${version}" PARENT_SCOPE)
endfunction()

# Gives the target weft_torch LibTorch's OpenMP library. Without OpenMP, at::parallel_for is serial and does not say so. Wheels bring an
# OpenMP library of their own: a second one beside it would mean a second pool of threads.
function(weft_torch_openmp root)
  file(GLOB openmp ${root}/lib/libgomp*.so* ${root}/../torch.libs/libgomp*.so*)
  if(openmp)
    list(GET openmp 0 openmp)
    target_compile_options(weft_torch INTERFACE ${OpenMP_CXX_FLAGS})
    target_link_libraries(weft_torch INTERFACE ${openmp})
  else()
    target_link_libraries(weft_torch INTERFACE OpenMP::OpenMP_CXX)
  endif()
endfunction()

# A macro, so that TORCH_INCLUDE_DIR, WEFT_TORCH_ROOT and WEFT_TORCH_VERSION are the caller's too.
macro(weft_find_torch problem)
  set(${problem} "")
  weft_torch_candidates(weft_torch_candidates ${ARGN})
  find_path(TORCH_INCLUDE_DIR torch/csrc/api/include/torch/types.h PATHS ${weft_torch_candidates}
            PATH_SUFFIXES include NO_DEFAULT_PATH)
  mark_as_advanced(TORCH_INCLUDE_DIR)
  if(NOT TORCH_INCLUDE_DIR)
    set(${problem} "LibTorch was not found. Name one of ${WEFT_TORCH_MINIMUM} or newer: -DCMAKE_PREFIX_PATH=/path/to/torch.")
  else()
    cmake_path(GET TORCH_INCLUDE_DIR PARENT_PATH WEFT_TORCH_ROOT)
    weft_torch_version(${TORCH_INCLUDE_DIR} WEFT_TORCH_VERSION)
    find_library(TORCH_CPU_LIBRARY torch_cpu PATHS ${WEFT_TORCH_ROOT}/lib NO_DEFAULT_PATH)
    find_library(TORCH_C10_LIBRARY c10 PATHS ${WEFT_TORCH_ROOT}/lib NO_DEFAULT_PATH)
    mark_as_advanced(TORCH_CPU_LIBRARY TORCH_C10_LIBRARY)
    find_package(OpenMP QUIET COMPONENTS CXX)
    if(NOT WEFT_TORCH_VERSION OR (WEFT_TORCH_VERSION VERSION_LESS WEFT_TORCH_MINIMUM AND NOT WEFT_OLDER_TORCH))
      set(${problem} "LibTorch ${WEFT_TORCH_MINIMUM} or newer is needed, but ${WEFT_TORCH_ROOT} has '${WEFT_TORCH_VERSION}' (-DWEFT_OLDER_TORCH=ON tries an older one, with which nothing is tested).")
    elseif(NOT TORCH_CPU_LIBRARY OR NOT TORCH_C10_LIBRARY)
      set(${problem} "LibTorch in ${WEFT_TORCH_ROOT} has headers, but no libtorch_cpu or libc10 in its folder lib.")
    elseif(NOT OpenMP_CXX_FOUND)
      set(${problem} "LibTorch needs OpenMP, and the C++ compiler has none.")
    elseif(NOT TARGET weft_torch)
      add_library(weft_torch INTERFACE)
      add_library(weft::torch ALIAS weft_torch)
      target_include_directories(weft_torch SYSTEM INTERFACE ${TORCH_INCLUDE_DIR}
                                                             ${TORCH_INCLUDE_DIR}/torch/csrc/api/include)
      target_link_libraries(weft_torch INTERFACE ${TORCH_CPU_LIBRARY} ${TORCH_C10_LIBRARY})
      weft_torch_openmp(${WEFT_TORCH_ROOT})
      target_link_options(weft_torch INTERFACE -Wl,--no-as-needed)
    endif()
  endif()
endmacro()
