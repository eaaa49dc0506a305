# Documents: every public function has a contract, Doxygen reads all of them without a warning, every code block works.
add_python_test(Docs.contracts ${PROJECT_SOURCE_DIR}/docs/check_contracts.py ${PROJECT_SOURCE_DIR} ${public_headers})
add_python_test(Docs.header_index ${CMAKE_CURRENT_LIST_DIR}/header_index_test.py ${PROJECT_SOURCE_DIR})
if(TARGET docs)
  add_test(NAME Docs.reference COMMAND ${CMAKE_COMMAND} --build ${PROJECT_BINARY_DIR} --target docs)
else()
  add_skipped_test(Docs.reference "Doxygen or Python 3 is not installed")
endif()
add_python_test(Documents ${CMAKE_CURRENT_LIST_DIR}/documents_test.py)
add_python_test(Docs.claims ${CMAKE_CURRENT_LIST_DIR}/claims_test.py ${PROJECT_SOURCE_DIR})
if(NOT RODEO_SANITIZE)  # the code blocks are compiled against the installed library
  file(GLOB_RECURSE documents CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/docs/*.md)
  list(PREPEND documents README.md CONTRIBUTING.md datasets/README.md)
  list(JOIN commands "," built_by_demo)
  foreach(document ${documents})
    add_python_test(Docs.${document} ${CMAKE_CURRENT_LIST_DIR}/docs_test.py
                    ${PROJECT_SOURCE_DIR} ${document} ${PROJECT_BINARY_DIR}/installed ${PROJECT_BINARY_DIR}
                    ${built_by_demo})
    set_tests_properties(Docs.${document} PROPERTIES FIXTURES_REQUIRED installed)
  endforeach()
  # Two cmake --install of one build would disturb each other.
  set_tests_properties(Docs.README.md Docs.docs/guide.md Docs.docs/install.md PROPERTIES RESOURCE_LOCK installation)
endif()
