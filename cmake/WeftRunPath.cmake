# SPDX-License-Identifier: Apache-2.0
# Where an installed libweft looks for LibTorch: in lib/libtorch below the installation, whoever puts it there, and where it was found
# when Weft was built. The environment of the build tree is left out, for it goes with the tree.
set(WEFT_TORCH_PLACES libtorch libtorch/torch)
set(weft_torch_run_path "$ORIGIN")
foreach(place IN LISTS WEFT_TORCH_PLACES)
  list(APPEND weft_torch_run_path "$ORIGIN/${place}/lib")
endforeach()
set(weft_torch_recorded "")
cmake_path(IS_PREFIX PROJECT_SOURCE_DIR ${WEFT_TORCH_ROOT} NORMALIZE weft_torch_is_inside)
if(NOT weft_torch_is_inside)
  set(weft_torch_recorded ${WEFT_TORCH_ROOT})
  list(APPEND weft_torch_run_path ${WEFT_TORCH_ROOT}/lib)
endif()
