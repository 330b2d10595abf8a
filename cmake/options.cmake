# Flags that hold for the whole build, and espalier_options(), which gives a target ours.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE RelWithDebInfo)
endif()
# No build depends on NDEBUG: internal checks are always on. Line tables suffice for backtraces.
if(PROJECT_IS_TOP_LEVEL)
  set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g1")
  set(CMAKE_C_FLAGS_RELWITHDEBINFO "-O2 -g1")
endif()

if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  find_program(ESPALIER_LLD NAMES ld.lld-19 lld-19)
  if(ESPALIER_LLD)
    add_link_options(-fuse-ld=lld)
  endif()
endif()

set(ESPALIER_TEST_TIMEOUT 120)
set(ESPALIER_TEST_ENVIRONMENT "")
if(ESPALIER_SANITIZE)
  # vptr checks need RTTI, which the layers are built without.
  add_compile_options(-fsanitize=${ESPALIER_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    # It reads a signature in front of what is called through a pointer; machine code of ours has none.
    add_compile_options(-fno-sanitize=function)
  endif()
  add_link_options(-fsanitize=${ESPALIER_SANITIZE})
  if(ESPALIER_SANITIZE MATCHES "undefined")
    add_compile_options(-fno-sanitize=vptr)
    add_link_options(-fno-sanitize=vptr)
  endif()
  set(ESPALIER_TEST_TIMEOUT 900)
  # libLLVM is not instrumented, so containers that cross into it look overflown and its locks look missing.
  set(ESPALIER_TEST_ENVIRONMENT
      "ASAN_OPTIONS=detect_container_overflow=0:detect_stack_use_after_return=1"
      "UBSAN_OPTIONS=print_stacktrace=1"
      "TSAN_OPTIONS=suppressions=${CMAKE_CURRENT_SOURCE_DIR}/cmake/tsan.supp")
endif()

# Headers lie beside their sources and are included as "espalier/<layer>/x.h": one link per layer makes that path.
set(ESPALIER_INCLUDE_DIR ${CMAKE_CURRENT_BINARY_DIR}/include)
file(MAKE_DIRECTORY ${ESPALIER_INCLUDE_DIR}/espalier)
function(espalier_link_headers name)
  file(CREATE_LINK ${PROJECT_SOURCE_DIR}/${name} ${ESPALIER_INCLUDE_DIR}/espalier/${name} SYMBOLIC)
endfunction()
espalier_link_headers(espalier.h)

# Warnings for any target of ours; LIBRARY adds what keeps a layer embeddable: no exceptions, no RTTI, no
# exported symbols. An interface that embedders derive from must therefore define all its virtual functions inline
# or leave them pure, or its typeinfo would be missing for callers that use RTTI.
function(espalier_options target)
  cmake_parse_arguments(arg "LIBRARY" "" "" ${ARGN})
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wswitch $<$<BOOL:${ESPALIER_WERROR}>:-Werror>)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # GCC 12 takes the inactive members of a std::variant for uninitialised reads.
    target_compile_options(${target} PRIVATE -Wno-maybe-uninitialized)
  endif()
  if(arg_LIBRARY)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fno-exceptions -fno-rtti>)
    set_target_properties(${target} PROPERTIES C_VISIBILITY_PRESET hidden CXX_VISIBILITY_PRESET hidden
                                               VISIBILITY_INLINES_HIDDEN ON)
  endif()
endfunction()
