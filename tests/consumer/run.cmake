# SPDX-License-Identifier: Apache-2.0
# Installs Weft into a folder of its own, configures and builds the project beside this file against it, and runs that.
set(stage ${BUILD}/consumer)
file(REMOVE_RECURSE ${stage})

function(step)
  execute_process(COMMAND ${ARGN} COMMAND_ECHO STDOUT COMMAND_ERROR_IS_FATAL ANY)
endfunction()

step(${CMAKE_COMMAND} --install ${BUILD} --prefix ${stage}/installed)
step(${CMAKE_COMMAND} -S ${SOURCE} -B ${stage}/build -G ${GENERATOR} -D CMAKE_CXX_COMPILER=${COMPILER}
     -D CMAKE_PREFIX_PATH=${stage}/installed)
step(${CMAKE_COMMAND} --build ${stage}/build)
step(${stage}/build/consumer)
step(${stage}/installed/bin/weft --version)
file(REMOVE_RECURSE ${stage})
