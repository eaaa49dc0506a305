# Tests of several ranks on the CPU, started by MPI's launcher.
find_program(RODEO_MPIRUN mpirun)
mark_as_advanced(RODEO_MPIRUN)
if(NOT RODEO_WITH_MPI)
  set(no_ranks "this build has no MPI: install libopenmpi-dev and openmpi-bin")
elseif(NOT RODEO_MPIRUN)
  set(no_ranks "mpirun is not installed: install openmpi-bin")
endif()
if(no_ranks)
  foreach(test Ranks.2 Ranks.4 Ranks.faults)
    add_skipped_test(${test} ${no_ranks})
  endforeach()
  return()
endif()

add_executable(rank_tests ranks/main.cpp ranks/communicator_test.cpp support/near.cpp)
target_link_libraries(rank_tests PRIVATE rodeo OpenMP::OpenMP_CXX GTest::gtest)
add_executable(rank_faults ranks/faults.cpp)
target_link_libraries(rank_faults PRIVATE rodeo)
foreach(program rank_tests rank_faults)
  target_include_directories(${program} PRIVATE ${PROJECT_SOURCE_DIR})
  rodeo_compile_options(${program})
endforeach()

set(where_it_works bash ${CMAKE_CURRENT_LIST_DIR}/ranks/where_mpirun_works.sh ${RODEO_MPIRUN})
foreach(ranks 2 4)
  add_test(NAME Ranks.${ranks}
           COMMAND ${where_it_works} ${RODEO_MPIRUN} --oversubscribe -np ${ranks} $<TARGET_FILE:rank_tests>)
endforeach()
add_test(NAME Ranks.faults
         COMMAND ${where_it_works} bash ${CMAKE_CURRENT_LIST_DIR}/ranks/faults_test.sh ${RODEO_MPIRUN} $<TARGET_FILE:rank_faults>)
# In a container: mpirun runs as root, and processes may not read each other's memory.
set_tests_properties(Ranks.2 Ranks.4 Ranks.faults PROPERTIES TIMEOUT 150 SKIP_RETURN_CODE 77 ENVIRONMENT
  "OMPI_ALLOW_RUN_AS_ROOT=1;OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1;OMPI_MCA_btl_vader_single_copy_mechanism=none")
