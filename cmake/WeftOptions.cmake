# SPDX-License-Identifier: Apache-2.0
# Everything that a person may choose about a build, in one place.
option(WEFT_TORCH "Build the rooms that stand on LibTorch" ON)
option(WEFT_CUDA "Build libweft_cuda: kernels for GPUs, which programs open at run time" OFF)
option(WEFT_TESTS "Build the tests" ${PROJECT_IS_TOP_LEVEL})
option(WEFT_BENCH "Build the benchmarks" OFF)
option(WEFT_PYTHON_PACKAGE "Build the native part of the Python package weft_attention" OFF)
option(WEFT_FUZZ "Build the fuzzers of tests/fuzz" OFF)
option(WEFT_WERROR "Turn warnings into errors" ON)
option(WEFT_PCH "Precompile the LibTorch headers" ON)
option(WEFT_UNITY "Join the files of a room, twelve or 24 to a compilation: LibTorch's headers cost 6 s each time, those of the standard library 1 s" ON)
option(WEFT_CCACHE "Use ccache when it is installed" ON)
option(WEFT_COVERAGE "Measure which lines the tests reach" OFF)
set(WEFT_SANITIZE "" CACHE STRING "Sanitizers, as the compiler names them: address,undefined or thread")
set(WEFT_FUZZ_SECONDS 3 CACHE STRING "How long a test run drives each fuzzer")

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Kind of build" FORCE)
endif()
