# Installs the build into a fresh prefix, builds the example against it, runs it.
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE output
    ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${ARGN}\nfailed (${result}):\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE ${WORK_FOLDER})
set(prefix ${WORK_FOLDER}/prefix)
run(${CMAKE_COMMAND} --install ${BUILD_FOLDER} --prefix ${prefix})
run(${CMAKE_COMMAND} -S ${EXAMPLE} -B ${WORK_FOLDER}/build -G ${GENERATOR}
  -DCMAKE_PREFIX_PATH=${prefix} -DCMAKE_BUILD_TYPE=Debug)
run(${CMAKE_COMMAND} --build ${WORK_FOLDER}/build)

file(WRITE ${WORK_FOLDER}/lines.txt "one\ntwo\nthree\n")
run(${WORK_FOLDER}/build/map_file ${prefix}/lib/gristmill/plugins/upper.so
  ${WORK_FOLDER}/lines.txt)
if(NOT output MATCHES "first record: ONE" OR NOT output MATCHES "3 read = 3 emitted")
  message(FATAL_ERROR "the example printed:\n${output}")
endif()
file(REMOVE_RECURSE ${WORK_FOLDER})
