# One folder of src/ is one part: an object library that the whole and the unit tests link.
# Arrows between parts are the DEPS; `tests/tools/tidy.py` holds the includes to them.
function(penstock_warnings target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Wconversion
    -Wsign-conversion -Wold-style-cast -Wnon-virtual-dtor -Woverloaded-virtual -Werror)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # g++ 12 reports these inside the standard library and Boost at -O2.
    target_compile_options(${target} PRIVATE -Wno-maybe-uninitialized -Wno-restrict
      -Wno-stringop-overflow -Wno-array-bounds -Wno-tsan)
  else()
    # libstdc++ 12's stable_sort uses a function that it calls deprecated itself.
    target_compile_options(${target} PRIVATE -Wno-deprecated-declarations)
  endif()
endfunction()

function(penstock_standard target)
  target_compile_features(${target} PUBLIC cxx_std_20)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF POSITION_INDEPENDENT_CODE ON)
  penstock_warnings(${target})
endfunction()

function(penstock_part name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  add_library(penstock_${name} OBJECT ${ARG_SOURCES})
  penstock_standard(penstock_${name})
  target_include_directories(penstock_${name} PUBLIC
    ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include ${PROJECT_BINARY_DIR}/generated)
  target_link_libraries(penstock_${name} PUBLIC ${ARG_DEPS} Threads::Threads)
  # Any std::function, string or vector of ours is the same in every build: Asio without its
  # own threads option, and separate compilation (one TU pays for it).
  target_compile_definitions(penstock_${name} PUBLIC BOOST_ASIO_SEPARATE_COMPILATION
    BOOST_ASIO_NO_DEPRECATED)
  set_property(GLOBAL APPEND PROPERTY PENSTOCK_PARTS penstock_${name})
endfunction()
