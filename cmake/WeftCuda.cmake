# SPDX-License-Identifier: Apache-2.0
# libweft_cuda.so: the kernels for GPUs with CUDA's run-time library inside. Programs open it at run time. The compiler is that of
# scripts/setup --cuda, or the one that CMAKE_CUDA_COMPILER or CUDACXX names. find_package(CUDAToolkit) is not asked: the compiler's wheels
# have no libcudart.so, and CMake 3.25 fails on them.
if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
  file(GLOB weft_nvcc ${PROJECT_SOURCE_DIR}/.venv-cuda/lib/python3*/site-packages/nvidia/cu13/bin/nvcc)
  if(NOT weft_nvcc)
    message(FATAL_ERROR "WEFT_CUDA=ON, but there is no nvcc: run scripts/setup --cuda, or set CMAKE_CUDA_COMPILER.")
  endif()
  set(CMAKE_CUDA_COMPILER ${weft_nvcc})
endif()
# Machine code for each, and no PTX: a driver does not compile anything at the first call. docs/cuda.md says which GPUs run which of them.
# Whoever sets CMAKE_CUDA_ARCHITECTURES gets those instead, each by itself.
set(WEFT_CUDA_ARCHITECTURES 80 90a 100 120 CACHE STRING "What libweft_cuda has machine code for; scripts/cuda/check-build has the same list")
# Calls on a GPU of 9.0 go to kernels that are empty but in code for 9.0a. Other code that runs there (sm_90, or PTX that the driver compiles)
# would leave results unwritten, and nobody would know.
if(CMAKE_CUDA_ARCHITECTURES)
  foreach(weft_architecture ${CMAKE_CUDA_ARCHITECTURES})
    if(NOT weft_architecture MATCHES "^(8[0-9]-real|(90a|1[0-9][0-9][a-z]?)(-real|-virtual)?)$")
      message(FATAL_ERROR "CMAKE_CUDA_ARCHITECTURES has ${weft_architecture}, expected such as 86-real, 90a-real or 120-real: what may run on a GPU "
                          "of compute capability 9.0 must be code for 9.0a, so that 8.x comes without PTX.")
    endif()
  endforeach()
elseif("90" IN_LIST WEFT_CUDA_ARCHITECTURES)
  message(FATAL_ERROR "WEFT_CUDA_ARCHITECTURES has 90, expected 90a: what runs on a GPU of compute capability 9.0 must be code for 9.0a.")
endif()
set(weft_cuda_code "")
if(NOT CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES OFF)
  # Half of the time of a file is the way from C++ to PTX. That of compute capability 8.0 is assembled for all that have no letter: kernels use
  # nothing that came later, but what sm_90a has alone.
  set(weft_plain ${WEFT_CUDA_ARCHITECTURES})
  list(FILTER weft_plain EXCLUDE REGEX "[a-z]$")
  if(weft_plain)
    list(TRANSFORM weft_plain PREPEND sm_)
    list(JOIN weft_plain "," weft_plain)
    list(APPEND weft_cuda_code "-gencode=arch=compute_80,code=[${weft_plain}]")
  endif()
  foreach(weft_architecture ${WEFT_CUDA_ARCHITECTURES})
    if(weft_architecture MATCHES "[a-z]$")
      list(APPEND weft_cuda_code "-gencode=arch=compute_${weft_architecture},code=sm_${weft_architecture}")
    endif()
  endforeach()
endif()
enable_language(CUDA)
# CMake 3.25 does not know that this compiler has C++20.
if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
endif()
# A file compiles for minutes, so that each pass has its own.
file(GLOB weft_cuda_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/weft/kernels/cuda/compiled/*.cu)
add_library(weft_cuda SHARED ${weft_cuda_sources})
target_include_directories(weft_cuda PRIVATE ${PROJECT_SOURCE_DIR}/src)
target_compile_options(weft_cuda PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:-O3 --expt-relaxed-constexpr ${weft_cuda_code}>)
set_target_properties(weft_cuda PROPERTIES CUDA_STANDARD 20 CUDA_EXTENSIONS OFF CUDA_RUNTIME_LIBRARY Static)
install(TARGETS weft_cuda LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
