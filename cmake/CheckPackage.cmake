# Read by cpack before it packages; cmake/Install.cmake sets the sentence.
if(CPACK_RODEO_REFUSE)
  message(FATAL_ERROR "${CPACK_RODEO_REFUSE}")
endif()
