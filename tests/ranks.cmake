# Tests of several ranks on the CPU: over TCP by launch_ranks(), over MPI by mpirun.
find_program(RODEO_MPIRUN mpirun)
mark_as_advanced(RODEO_MPIRUN)

file(GLOB rank_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/ranks/*_test.cpp)
add_executable(rank_tests ranks/main.cpp ${rank_sources} support/near.cpp)
target_link_libraries(rank_tests PRIVATE rodeo OpenMP::OpenMP_CXX GTest::gtest)
rodeo_test_options(rank_tests)
rodeo_reuse_precompiled(rank_tests test_support)
rodeo_unite(rank_tests ${rank_sources})
add_executable(rank_faults ranks/faults.cpp)
add_executable(rank_launch ranks/launch.cpp)
add_executable(rank_bench ranks/bench.cpp)
foreach(program rank_tests rank_faults rank_launch rank_bench)
  target_link_libraries(${program} PRIVATE rodeo)
  target_include_directories(${program} PRIVATE ${PROJECT_SOURCE_DIR})
endforeach()
set_target_properties(rank_launch rank_bench PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)  # documents use them
foreach(program rank_faults rank_launch rank_bench)
  rodeo_compile_options(${program})
endforeach()

set(faults_test bash ${CMAKE_CURRENT_LIST_DIR}/ranks/faults_test.sh)
foreach(ranks 2 4)
  add_test(NAME Ranks.tcp.${ranks} COMMAND rank_launch ${ranks} $<TARGET_FILE:rank_tests>)
endforeach()
add_test(NAME Ranks.tcp.faults
         COMMAND ${faults_test} tcp $<TARGET_FILE:rank_launch> $<TARGET_FILE:rank_faults>)
add_test(NAME Ranks.launch
         COMMAND bash ${CMAKE_CURRENT_LIST_DIR}/ranks/launch_test.sh $<TARGET_FILE:rank_launch> $<TARGET_FILE:rank_tests>)
# 77: fewer GPUs, or no NCCL
add_test(NAME Ranks.gpu.2
         COMMAND bash ${CMAKE_CURRENT_LIST_DIR}/ranks/where_gpus_are.sh 2 $<TARGET_FILE:rank_launch> 2 $<TARGET_FILE:rank_tests> --cuda)
add_test(NAME Ranks.gpu.4
         COMMAND bash ${CMAKE_CURRENT_LIST_DIR}/ranks/where_gpus_are.sh 4 $<TARGET_FILE:rank_launch> 4 $<TARGET_FILE:rank_tests> --cuda)
add_test(NAME Ranks.gpu.faults
         COMMAND bash ${CMAKE_CURRENT_LIST_DIR}/ranks/where_gpus_are.sh 2 ${faults_test} nccl $<TARGET_FILE:rank_launch> $<TARGET_FILE:rank_faults>)
set_tests_properties(Ranks.gpu.2 Ranks.gpu.4 Ranks.gpu.faults PROPERTIES TIMEOUT 900 SKIP_RETURN_CODE 77)
foreach(test commands tasks)
  add_test(NAME Ranks.gpu.${test}
           COMMAND bash ${CMAKE_CURRENT_LIST_DIR}/ranks/where_gpus_are.sh 4 bash ${CMAKE_CURRENT_LIST_DIR}/ranks/${test}_test.sh ${PROJECT_BINARY_DIR}/bin cuda)
  set_tests_properties(Ranks.gpu.${test} PROPERTIES TIMEOUT 900 SKIP_RETURN_CODE 77)
endforeach()
add_test(NAME Ranks.ctrl_c COMMAND python3 ${CMAKE_CURRENT_LIST_DIR}/ranks/ctrl_c_test.py $<TARGET_FILE:rank_launch>)
add_test(NAME Ranks.run COMMAND python3 ${CMAKE_CURRENT_LIST_DIR}/ranks/run_test.py ${PROJECT_BINARY_DIR}/bin)
set_tests_properties(Ranks.tcp.2 Ranks.tcp.4 Ranks.tcp.faults Ranks.launch Ranks.ctrl_c Ranks.run PROPERTIES TIMEOUT 900)

add_test(NAME Ranks.commands
         COMMAND bash ${CMAKE_CURRENT_LIST_DIR}/ranks/commands_test.sh ${PROJECT_BINARY_DIR}/bin)
add_test(NAME Ranks.tasks COMMAND bash ${CMAKE_CURRENT_LIST_DIR}/ranks/tasks_test.sh ${PROJECT_BINARY_DIR}/bin)
set_tests_properties(Ranks.commands Ranks.tasks PROPERTIES TIMEOUT 900)

# Two network namespaces. 77: they cannot be made
set(hosts_test bash ${CMAKE_CURRENT_LIST_DIR}/ranks/hosts_test.sh)
set(on_hosts ${PROJECT_BINARY_DIR}/bin $<TARGET_FILE:rank_tests> $<TARGET_FILE:rank_faults>)
add_test(NAME Ranks.hosts.tcp COMMAND ${hosts_test} torchrun ${on_hosts})
add_test(NAME Ranks.hosts.nccl
         COMMAND bash ${CMAKE_CURRENT_LIST_DIR}/ranks/where_gpus_are.sh 2 ${hosts_test} nccl ${on_hosts})
set_tests_properties(Ranks.hosts.tcp Ranks.hosts.nccl PROPERTIES TIMEOUT 900 SKIP_RETURN_CODE 77 ENVIRONMENT NCCL_MULTI_RANK_GPU_ENABLE=0)
if(NOT RODEO_WITH_MPI)
  set(no_mpi "this build has no MPI: install libopenmpi-dev and openmpi-bin")
elseif(NOT RODEO_MPIRUN)
  set(no_mpi "mpirun is not installed: install openmpi-bin")
endif()
if(no_mpi)
  foreach(test Ranks.2 Ranks.4 Ranks.faults Ranks.hosts.mpi)
    add_skipped_test(${test} ${no_mpi})
  endforeach()
  return()
endif()

set(where_it_works bash ${CMAKE_CURRENT_LIST_DIR}/ranks/where_mpirun_works.sh ${RODEO_MPIRUN})
# Operators and training see a Communicator alone: all their cases run on 2 and 4 ranks over TCP, the two tests above. Here are the
# collectives and each form of training; of 4 ranks, which are more than the cores, one training.
set(cases_of_2 Core*:TrainRanks.*)
set(cases_of_4 Core*:TrainRanks.EveryForm)
foreach(ranks 2 4)
  add_test(NAME Ranks.${ranks} COMMAND ${where_it_works} ${RODEO_MPIRUN} --oversubscribe -np ${ranks}
                                       $<TARGET_FILE:rank_tests> --gtest_filter=${cases_of_${ranks}})
endforeach()
add_test(NAME Ranks.faults
         COMMAND ${where_it_works} ${faults_test} mpi ${RODEO_MPIRUN} $<TARGET_FILE:rank_faults>)
add_test(NAME Ranks.hosts.mpi COMMAND ${where_it_works} ${hosts_test} mpirun ${on_hosts})
# Ranks of MPI wait in busy loops: beside another test each message waits for a share of the processor. So nothing runs beside them.
set_tests_properties(Ranks.2 Ranks.4 Ranks.faults Ranks.hosts.mpi PROPERTIES PROCESSORS 2)
# In a container: mpirun runs as root, and processes may not read each other's memory.
set_tests_properties(Ranks.2 Ranks.4 Ranks.faults Ranks.hosts.mpi PROPERTIES TIMEOUT 900 SKIP_RETURN_CODE 77 ENVIRONMENT
  "OMPI_ALLOW_RUN_AS_ROOT=1;OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1;OMPI_MCA_btl_vader_single_copy_mechanism=none")
