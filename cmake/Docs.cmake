# cmake --build build --target docs: writes the API reference to build/docs/html. The target exists where Doxygen is installed.
find_package(Doxygen QUIET)
find_package(Python3 QUIET COMPONENTS Interpreter)
if(DOXYGEN_FOUND AND Python3_FOUND)
  list(TRANSFORM public_headers PREPEND "\"${PROJECT_SOURCE_DIR}/" OUTPUT_VARIABLE doxygen_input)
  list(TRANSFORM doxygen_input APPEND "\"")
  list(APPEND doxygen_input "\"${PROJECT_SOURCE_DIR}/docs/reference.dox\"")
  list(JOIN doxygen_input " " doxygen_input)
  # The filter starts for each header: the interpreter itself, no script that chooses one, and without packages it starts in a tenth.
  execute_process(COMMAND ${Python3_EXECUTABLE} -c "import sys; print(sys.executable)" OUTPUT_VARIABLE doxygen_python
                  OUTPUT_STRIP_TRAILING_WHITESPACE)
  configure_file(${PROJECT_SOURCE_DIR}/docs/Doxyfile.in ${PROJECT_BINARY_DIR}/Doxyfile @ONLY)
  add_custom_target(docs COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/docs
                         COMMAND Doxygen::doxygen ${PROJECT_BINARY_DIR}/Doxyfile VERBATIM)
endif()
