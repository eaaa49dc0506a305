# cpack includes this file before it makes a package. cmake/Install.cmake sets the error text.
if(CPACK_RODEO_REFUSE)
  message(FATAL_ERROR "${CPACK_RODEO_REFUSE}")
endif()
