# Rules of the source tree, and the commands run as a user runs them.
target_compile_definitions(rodeo_tests PRIVATE RODEO_SOURCE_DIR="${PROJECT_SOURCE_DIR}")

add_test(NAME Rules COMMAND ${CMAKE_COMMAND} -DROOT=${PROJECT_SOURCE_DIR} -P ${CMAKE_CURRENT_LIST_DIR}/rules_test.cmake)
add_test(NAME RulesCatch COMMAND ${CMAKE_COMMAND} -DSCRIPT=${CMAKE_CURRENT_LIST_DIR}/rules_test.cmake
         -DTREE=${PROJECT_BINARY_DIR}/rules_tree -P ${CMAKE_CURRENT_LIST_DIR}/rules_catch_test.cmake)
add_test(NAME Format COMMAND bash ${CMAKE_CURRENT_LIST_DIR}/format_test.sh ${PROJECT_SOURCE_DIR})
set_tests_properties(Format PROPERTIES SKIP_RETURN_CODE 77)
add_test(NAME Commands COMMAND bash ${CMAKE_CURRENT_LIST_DIR}/commands_test.sh ${PROJECT_BINARY_DIR}/bin)
add_test(NAME ToH5 COMMAND python3 ${CMAKE_CURRENT_LIST_DIR}/datasets/to_h5_test.py ${PROJECT_SOURCE_DIR}
         ${PROJECT_BINARY_DIR}/bin/rodeo_data)
set_tests_properties(ToH5 PROPERTIES SKIP_RETURN_CODE 77)

# The loader on damaged files; the sanitizers' build of .ci/run gives it a minute.
add_executable(load_dataset_fuzz fuzz/driver.cpp fuzz/load_dataset_fuzz.cpp fuzz/seeds.cpp)
target_include_directories(load_dataset_fuzz PRIVATE ${PROJECT_SOURCE_DIR})
target_link_libraries(load_dataset_fuzz PRIVATE rodeo)
rodeo_compile_options(load_dataset_fuzz)
add_test(NAME Fuzz COMMAND load_dataset_fuzz 5 1 ${PROJECT_BINARY_DIR})
