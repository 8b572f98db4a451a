# SPDX-License-Identifier: Apache-2.0
# Installs Weft into a folder, looks at what lies there, and configures, builds and runs the project beside this file against it: without
# LibTorch, with one that cannot be found, and with one. The installation must not know the build tree, which may be gone.
set(stage ${BUILD}/consumer)
set(prefix ${stage}/installed)
set(weft ${prefix}/bin/weft)
file(REMOVE_RECURSE ${stage})
set(ENV{CMAKE_PREFIX_PATH} "")
unset(ENV{LD_LIBRARY_PATH})
set(ENV{WEFT_LIBTORCH} /nonexistent)  # no LibTorch of a Python of this machine is found

function(step)
  execute_process(COMMAND ${ARGN} COMMAND_ECHO STDOUT COMMAND_ERROR_IS_FATAL ANY)
endfunction()

# Runs a command; its output, both streams together, must match every expression behind EXPECT.
function(said)
  cmake_parse_arguments(PARSE_ARGV 0 run "" "CODE" "COMMAND;EXPECT")
  execute_process(COMMAND ${run_COMMAND} OUTPUT_VARIABLE output ERROR_VARIABLE output RESULT_VARIABLE code)
  if(NOT code EQUAL run_CODE)
    message(FATAL_ERROR "${run_COMMAND} exited with ${code}, expected ${run_CODE}\n${output}")
  endif()
  foreach(expression IN LISTS run_EXPECT)
    if(NOT output MATCHES "${expression}")
      message(FATAL_ERROR "${run_COMMAND} did not say '${expression}'\n${output}")
    endif()
  endforeach()
endfunction()

# Configures and builds one part of the project.
function(build_part part)
  step(${CMAKE_COMMAND} -S ${SOURCE} -B ${stage}/${part} -G ${GENERATOR} -D CMAKE_CXX_COMPILER=${COMPILER} -D PART=${part}
       -D CMAKE_PREFIX_PATH=${prefix} -D SNIPPETS=${stage}/snippets -D HEADERS=${HEADERS})
  step(${CMAKE_COMMAND} --build ${stage}/${part})
endfunction()

# What a program prints must be in the given file.
function(prints program file)
  execute_process(COMMAND ${program} OUTPUT_VARIABLE output COMMAND_ERROR_IS_FATAL ANY)
  file(READ ${file} expected)
  if(expected STREQUAL "" OR NOT output STREQUAL expected)
    message(FATAL_ERROR "${program} printed\n${output}\nand the documents say\n${expected}")
  endif()
endfunction()

step(${CMAKE_COMMAND} --install ${BUILD} --prefix ${prefix})
cmake_path(GET SOURCE PARENT_PATH tree)
cmake_path(GET tree PARENT_PATH tree)

# No path of the tree in the package files, in run paths, in what is linked.
file(GLOB package ${prefix}/lib*/cmake/weft/*.cmake ${prefix}/lib*/*/cmake/weft/*.cmake)
foreach(file IN LISTS package)
  file(READ ${file} text)
  if(text MATCHES "${tree}/|[gG]loo/")
    message(FATAL_ERROR "${file} names ${CMAKE_MATCH_0}")
  endif()
endforeach()
file(GLOB objects ${prefix}/bin/weft ${prefix}/lib*/libweft*.so ${prefix}/lib*/*/libweft*.so)
foreach(object IN LISTS objects)
  execute_process(COMMAND readelf -d ${object} OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
  if(text MATCHES "${tree}/")
    message(FATAL_ERROR "${object} looks for libraries below ${tree}")
  endif()
  # "lib" stands before each: an address may hold the digits c10.
  if(object MATCHES "weft_core|bin/weft$" AND text MATCHES "lib(torch|c10|gomp)")
    message(FATAL_ERROR "${object} is linked to ${CMAKE_MATCH_0}")
  endif()
endforeach()

step(${PYTHON} ${SOURCE}/snippets.py ${tree} ${stage}/snippets)
build_part(core)
prints(${stage}/core/consumer ${stage}/snippets/core.txt)

# Without LibTorch the program draws, and says what the other commands need.
said(CODE 0 COMMAND ${weft} pattern show "window(4)" --length 16 EXPECT "window\\(4\\)")
if(NOT RECORDED)
  build_part(missing)
  said(CODE 1 COMMAND ${weft} version EXPECT "weft: error: cannot open libweft" "hint: .*LibTorch.*docs/installing.md")
endif()

# The LibTorch of a Python, where the installation has none.
said(CODE 0 COMMAND ${CMAKE_COMMAND} -E env WEFT_LIBTORCH=${TORCH} ${weft} version EXPECT "libtorch")

# LibTorch linked into the installation, as docs/installing.md says.
cmake_path(GET TORCH PARENT_PATH packages)
file(GLOB library_dir ${prefix}/lib*/libweft.so ${prefix}/lib*/*/libweft.so)
cmake_path(GET library_dir PARENT_PATH library_dir)
file(CREATE_LINK ${packages} ${library_dir}/libtorch SYMBOLIC)
said(CODE 0 COMMAND ${weft} version EXPECT "libtorch")
build_part(all)
prints(${stage}/all/consumer ${stage}/snippets/torch.txt)
file(REMOVE_RECURSE ${stage})
