# The documents: every public function has its contract, Doxygen understands all of them, every code block works.
find_package(Python3 QUIET COMPONENTS Interpreter)
if(NOT Python3_FOUND)
  message(STATUS "No Python 3: the tests of the documents are left out")
  return()
endif()
add_test(NAME Docs.contracts
         COMMAND ${Python3_EXECUTABLE} -B ${PROJECT_SOURCE_DIR}/docs/check_contracts.py ${PROJECT_SOURCE_DIR} ${public_headers})
if(TARGET docs)
  add_test(NAME Docs.reference COMMAND ${CMAKE_COMMAND} --build ${PROJECT_BINARY_DIR} --target docs)
else()
  message(STATUS "No Doxygen: the test of the reference is left out")
endif()
if(NOT RODEO_SANITIZE)
  file(GLOB documents CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}
       ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/CONTRIBUTING.md ${PROJECT_SOURCE_DIR}/docs/*.md
       ${PROJECT_SOURCE_DIR}/datasets/README.md)
  foreach(document ${documents})
    add_test(NAME Docs.${document} COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/docs_test.py
             ${PROJECT_SOURCE_DIR} ${document} ${PROJECT_BINARY_DIR}/installed ${PROJECT_BINARY_DIR})
    set_tests_properties(Docs.${document} PROPERTIES FIXTURES_REQUIRED installed)
  endforeach()
endif()
