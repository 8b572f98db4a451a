# SPDX-License-Identifier: Apache-2.0
# Instruction sets by file name: a source whose name ends in _avx2 is compiled for AVX2, and so on. On another processor family such
# files are left out of the build. Sources of these kinds include neither LibTorch nor STL containers (scripts/lint sees to it).
set(WEFT_ISA_NAMES avx2 avxvnni avx512 avx512vnni avx512bf16 amx)
set(WEFT_ISA_FLAGS_avx2 -mavx2 -mfma -mf16c)
set(WEFT_ISA_FLAGS_avx512
    ${WEFT_ISA_FLAGS_avx2} -mavx512f -mavx512bw -mavx512vl -mavx512dq -mprefer-vector-width=512)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC 12's own avx512fintrin.h starts intrinsics from undefined registers and then warns of it (its bug 105593).
  list(APPEND WEFT_ISA_FLAGS_avx512 -Wno-maybe-uninitialized -Wno-uninitialized)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND WEFT_SANITIZE MATCHES "address")
  # Its copies of stack variables, made to find uses after return, are aligned to 32 bytes where these need 64 (GCC's bug 110027).
  list(APPEND WEFT_ISA_FLAGS_avx512 --param=asan-use-after-return=0)
endif()
set(WEFT_ISA_FLAGS_avxvnni ${WEFT_ISA_FLAGS_avx2} -mavxvnni)
set(WEFT_ISA_FLAGS_avx512vnni ${WEFT_ISA_FLAGS_avx512} -mavx512vnni)
set(WEFT_ISA_FLAGS_avx512bf16 ${WEFT_ISA_FLAGS_avx512} -mavx512bf16)
set(WEFT_ISA_FLAGS_amx ${WEFT_ISA_FLAGS_avx512bf16} -mamx-tile -mamx-bf16)

# Sets each source's flags by its suffix; `list_name` names a variable, from which files of foreign instruction sets are removed.
function(weft_isa_flags list_name)
  set(kept "")
  foreach(source IN LISTS ${list_name})
    set(isa "")
    foreach(name IN LISTS WEFT_ISA_NAMES)
      if(source MATCHES "_${name}\\.cpp$")
        set(isa ${name})
      endif()
    endforeach()
    if(NOT isa)
      list(APPEND kept ${source})
    elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64|amd64")
      set_property(SOURCE ${source} APPEND PROPERTY COMPILE_OPTIONS ${WEFT_ISA_FLAGS_${isa}})
      list(APPEND kept ${source})
    endif()
  endforeach()
  set(${list_name} ${kept} PARENT_SCOPE)
endfunction()
