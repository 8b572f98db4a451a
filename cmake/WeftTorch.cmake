# SPDX-License-Identifier: Apache-2.0
# LibTorch as the target weft::torch. The wheel's own package file insists on a CUDA toolkit, so the libraries are imported by
# hand. Looked for in CMAKE_PREFIX_PATH (a torch package, an unpacked libtorch, a site-packages folder), then in .venv.
set(WEFT_TORCH_MINIMUM 2.11)

# Writes into `result` the folders in which a `torch` or `libtorch` tree may lie, best first.
function(weft_torch_candidates result)
  set(prefixes ${CMAKE_PREFIX_PATH})
  if(DEFINED ENV{CMAKE_PREFIX_PATH})
    string(REPLACE ":" ";" from_environment "$ENV{CMAKE_PREFIX_PATH}")
    list(APPEND prefixes ${from_environment})
  endif()
  list(APPEND prefixes ${PROJECT_SOURCE_DIR}/.venv)
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

weft_torch_candidates(weft_torch_candidates)
find_path(TORCH_INCLUDE_DIR torch/csrc/api/include/torch/types.h PATHS ${weft_torch_candidates}
          PATH_SUFFIXES include NO_DEFAULT_PATH)
if(NOT TORCH_INCLUDE_DIR)
  message(FATAL_ERROR
          "LibTorch was not found. Run scripts/setup, or name one of ${WEFT_TORCH_MINIMUM} or newer: "
          "-DCMAKE_PREFIX_PATH=/path/to/torch. Without it, -DWEFT_TORCH=OFF builds the rooms that need none.")
endif()
cmake_path(GET TORCH_INCLUDE_DIR PARENT_PATH weft_torch_root)
set(WEFT_TORCH_LIBRARY_DIR ${weft_torch_root}/lib)
find_library(TORCH_CPU_LIBRARY torch_cpu PATHS ${WEFT_TORCH_LIBRARY_DIR} REQUIRED NO_DEFAULT_PATH)
find_library(TORCH_C10_LIBRARY c10 PATHS ${WEFT_TORCH_LIBRARY_DIR} REQUIRED NO_DEFAULT_PATH)
mark_as_advanced(TORCH_INCLUDE_DIR TORCH_CPU_LIBRARY TORCH_C10_LIBRARY)

weft_torch_version(${TORCH_INCLUDE_DIR} WEFT_TORCH_VERSION)
if(NOT WEFT_TORCH_VERSION OR WEFT_TORCH_VERSION VERSION_LESS WEFT_TORCH_MINIMUM)
  message(FATAL_ERROR "LibTorch ${WEFT_TORCH_MINIMUM} or newer is needed, but ${weft_torch_root} has '${WEFT_TORCH_VERSION}'.")
endif()

find_package(OpenMP REQUIRED COMPONENTS CXX)
add_library(weft_torch INTERFACE)
add_library(weft::torch ALIAS weft_torch)
target_include_directories(weft_torch SYSTEM INTERFACE ${TORCH_INCLUDE_DIR}
                                                       ${TORCH_INCLUDE_DIR}/torch/csrc/api/include)
target_link_libraries(weft_torch INTERFACE ${TORCH_CPU_LIBRARY} ${TORCH_C10_LIBRARY})
# Without OpenMP, at::parallel_for is serial and does not say so. Wheels bring an OpenMP library of their own: a second one beside it
# would mean a second pool of threads.
file(GLOB weft_torch_openmp ${WEFT_TORCH_LIBRARY_DIR}/libgomp*.so* ${weft_torch_root}/../torch.libs/libgomp*.so*)
if(weft_torch_openmp)
  list(GET weft_torch_openmp 0 weft_torch_openmp)
  target_compile_options(weft_torch INTERFACE ${OpenMP_CXX_FLAGS})
  target_link_libraries(weft_torch INTERFACE ${weft_torch_openmp})
else()
  target_link_libraries(weft_torch INTERFACE OpenMP::OpenMP_CXX)
endif()
target_link_options(weft_torch INTERFACE -Wl,--no-as-needed)

set(weft_torch_devices CPU)
if(WEFT_CUDA)
  find_library(TORCH_CUDA_LIBRARY torch_cuda PATHS ${WEFT_TORCH_LIBRARY_DIR} NO_DEFAULT_PATH)
  find_library(TORCH_C10_CUDA_LIBRARY c10_cuda PATHS ${WEFT_TORCH_LIBRARY_DIR} NO_DEFAULT_PATH)
  mark_as_advanced(TORCH_CUDA_LIBRARY TORCH_C10_CUDA_LIBRARY)
  if(TORCH_CUDA_LIBRARY AND TORCH_C10_CUDA_LIBRARY)
    target_link_libraries(weft_torch INTERFACE ${TORCH_CUDA_LIBRARY} ${TORCH_C10_CUDA_LIBRARY})
    string(APPEND weft_torch_devices " and CUDA")
  else()
    message(FATAL_ERROR "WEFT_CUDA=ON, but the LibTorch in ${weft_torch_root} has no CUDA library.")
  endif()
endif()
# Several processes: LibTorch has Gloo inside but ships none of its headers. Only gloo_group.cpp sees them.
find_path(GLOO_INCLUDE_DIR gloo/context.h)
mark_as_advanced(GLOO_INCLUDE_DIR)
if(NOT GLOO_INCLUDE_DIR)
  message(FATAL_ERROR "Gloo's headers were not found: run scripts/setup, or install libgloo-dev.")
endif()

message(STATUS "LibTorch ${WEFT_TORCH_VERSION} (${weft_torch_devices}): ${weft_torch_root}")
