# SPDX-License-Identifier: Apache-2.0
# What CMake says of a LibTorch that is older than the one that Weft is tested with, of one as new, and of one that says no version. Only
# headers are there: the version is looked at first.
include(${CMAKE}/WeftTorch.cmake)

# OpenMP is looked for with a compiler, which a script has none of.
macro(find_package)
endmacro()

# `found` is what a LibTorch of such a version is refused with.
function(refusal_of version found)
  file(REMOVE_RECURSE ${STAGE})
  file(WRITE ${STAGE}/include/torch/csrc/api/include/torch/types.h "")
  if(version)
    string(REGEX REPLACE "([0-9]+)\\.([0-9]+)\\.([0-9]+)"
           "#define TORCH_VERSION_MAJOR \\1\n#define TORCH_VERSION_MINOR \\2\n#define TORCH_VERSION_PATCH \\3\n" lines ${version})
    file(WRITE ${STAGE}/include/torch/headeronly/version.h "${lines}")
  endif()
  set(CMAKE_PREFIX_PATH ${STAGE})
  weft_find_torch(problem)
  set(${found} "${problem}" PARENT_SCOPE)
endfunction()

# The text must match the expression.
function(says text expression)
  if(NOT text MATCHES "${expression}")
    message(FATAL_ERROR "expected '${expression}', found '${text}'")
  endif()
endfunction()

set(needed "LibTorch ${WEFT_TORCH_MINIMUM} or newer is needed, but .* has ")
refusal_of(2.14.1 refusal)
says("${refusal}" "^${needed}'2\\.14\\.1' .*WEFT_OLDER_TORCH")
refusal_of(1.99.0 refusal)
says("${refusal}" "^${needed}'1\\.99\\.0'")
refusal_of("" refusal)
says("${refusal}" "^${needed}''")
foreach(version ${WEFT_TORCH_MINIMUM}.0 3.0.0)
  refusal_of(${version} refusal)
  says("${refusal}" "no libtorch_cpu or libc10")
endforeach()
set(WEFT_OLDER_TORCH ON)
refusal_of(2.14.1 refusal)
says("${refusal}" "no libtorch_cpu or libc10")
file(REMOVE_RECURSE ${STAGE})
