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
# Machine code for each, and no PTX: a driver does not compile anything at the first call. scripts/cuda/check-build has the same list.
if(NOT CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES "80-real;86-real;89-real;90a-real;100a-real;120a-real")
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
target_compile_options(weft_cuda PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:-O3 --expt-relaxed-constexpr>)
set_target_properties(weft_cuda PROPERTIES CUDA_STANDARD 20 CUDA_EXTENSIONS OFF CUDA_RUNTIME_LIBRARY Static)
install(TARGETS weft_cuda LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
