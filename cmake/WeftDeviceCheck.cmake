# SPDX-License-Identifier: Apache-2.0
# libweft_device_case.so: layouts and calls of libweft_cuda as plain C functions, for scripts/device-check. It sees neither CUDA nor LibTorch and
# has the C++ library inside: the machine that it is carried to has another system.
add_library(weft_device_case SHARED ${PROJECT_SOURCE_DIR}/bench/device/device_case.cpp
                                    ${PROJECT_SOURCE_DIR}/src/weft/kernels/cuda/plan.cpp)
target_include_directories(weft_device_case PRIVATE ${PROJECT_SOURCE_DIR}/bench ${PROJECT_SOURCE_DIR}/src)
target_link_libraries(weft_device_case PRIVATE weft_pattern weft_core weft_flags)
target_link_options(weft_device_case PRIVATE -static-libstdc++ -static-libgcc)
