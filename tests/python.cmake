# The Python package: pytest in python/tests. Skipped by name where it was not built.
if(RODEO_WITH_PYTHON)
  add_test(NAME Python COMMAND ${Python_EXECUTABLE} -B ${PROJECT_SOURCE_DIR}/python/tests/run.py ${PROJECT_BINARY_DIR}/python)
  set_tests_properties(Python PROPERTIES SKIP_RETURN_CODE 77)
else()
  add_skipped_test(Python "the Python package was not built: Python 3.9 with headers, or nanobind, was not found (pip install nanobind)")
endif()
