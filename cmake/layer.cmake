# One static library and one test program for each layer folder.

set(ESPALIER_LAYERS "" CACHE INTERNAL "Targets of the layers that have sources")

if(ESPALIER_TESTS)
  find_package(GTest REQUIRED)
  include(GoogleTest)
  enable_testing()
endif()

# x_test.cpp, and test_x.cpp or test_x.h for what several tests of a layer share.
set(ESPALIER_TEST_SOURCE "(_test\\.cpp|/test_[^/]*)$")

# Adds the gtest program `name` from `sources`, linked with `libraries`, and registers its cases with ctest.
function(espalier_gtest name sources libraries)
  add_executable(${name} ${sources})
  espalier_options(${name})
  target_link_libraries(${name} PRIVATE ${libraries} GTest::gtest GTest::gmock GTest::gtest_main)
  # Tests may read goldens from the source tree and spawn the tool as a worker.
  target_compile_definitions(${name} PRIVATE ESPALIER_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
                                             ESPALIER_TOOL_PATH="${PROJECT_BINARY_DIR}/bin/espalier")
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 120 TEST_PREFIX "${name}."
                       WORKING_DIRECTORY ${PROJECT_BINARY_DIR}
                       PROPERTIES TIMEOUT ${ESPALIER_TEST_TIMEOUT} ENVIRONMENT "${ESPALIER_TEST_ENVIRONMENT}")
endfunction()

# espalier_layer(ir DEPS support): library espalier_ir from ir/*.cpp and ir/*/*.cpp, test program ir_test from the
# *_test.cpp and test_*.cpp among them. DEPS are layers (those without sources yet are left out), or LLVM or EIGEN, whose headers stay
# private to the layer; LINK are further public targets.
function(espalier_layer layer)
  cmake_parse_arguments(arg "" "" "DEPS;LINK" ${ARGN})
  espalier_link_headers(${layer})
  file(GLOB sources CONFIGURE_DEPENDS ${layer}/*.cpp ${layer}/*/*.cpp)
  file(GLOB headers CONFIGURE_DEPENDS ${layer}/*.h ${layer}/*/*.h)
  list(FILTER sources EXCLUDE REGEX "/runtime/rt/")
  list(FILTER headers EXCLUDE REGEX "/runtime/rt/")
  set(tests ${sources})
  list(FILTER tests INCLUDE REGEX "${ESPALIER_TEST_SOURCE}")
  list(FILTER sources EXCLUDE REGEX "${ESPALIER_TEST_SOURCE}")
  if(NOT sources AND NOT headers)
    return()
  endif()

  set(target espalier_${layer})
  if(sources)
    add_library(${target} STATIC ${sources} ${headers})
    espalier_options(${target} LIBRARY)
    set(scope PUBLIC)
  else()
    add_library(${target} INTERFACE)
    set(scope INTERFACE)
  endif()
  add_library(Espalier::${layer} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${layer})
  target_compile_features(${target} ${scope} cxx_std_20)
  target_include_directories(${target} ${scope} $<BUILD_INTERFACE:${ESPALIER_INCLUDE_DIR}>
                                       $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_libraries(${target} ${scope} ${arg_LINK})
  if(tests AND ESPALIER_TESTS)
    espalier_gtest(${layer}_test "${tests}" ${target})
  endif()
  foreach(dep IN LISTS arg_DEPS)
    if(dep STREQUAL "LLVM")
      espalier_use_llvm(${target} ${layer}_test)
    elseif(dep STREQUAL "EIGEN")
      espalier_use_eigen(${target} ${layer}_test)
    elseif(TARGET espalier_${dep})
      target_link_libraries(${target} ${scope} espalier_${dep})
    endif()
  endforeach()
  set(ESPALIER_LAYERS ${ESPALIER_LAYERS} ${target} CACHE INTERNAL "")
endfunction()

# The run-time part that exported code links: C ABI, nothing but threads beneath it.
function(espalier_rt)
  file(GLOB sources CONFIGURE_DEPENDS runtime/rt/*.c runtime/rt/*.cpp)
  set(tests ${sources})
  list(FILTER tests INCLUDE REGEX "${ESPALIER_TEST_SOURCE}")
  list(FILTER sources EXCLUDE REGEX "${ESPALIER_TEST_SOURCE}")
  if(NOT sources)
    return()
  endif()
  espalier_link_headers(runtime)
  add_library(espalier_rt STATIC ${sources})
  add_library(Espalier::rt ALIAS espalier_rt)
  set_target_properties(espalier_rt PROPERTIES EXPORT_NAME rt)
  espalier_options(espalier_rt LIBRARY)
  target_include_directories(espalier_rt PUBLIC $<BUILD_INTERFACE:${ESPALIER_INCLUDE_DIR}>
                                                $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_libraries(espalier_rt PUBLIC Threads::Threads)
  set(ESPALIER_LAYERS ${ESPALIER_LAYERS} espalier_rt CACHE INTERNAL "")
  if(tests AND ESPALIER_TESTS)
    espalier_gtest(rt_test "${tests}" espalier_rt)
  endif()
endfunction()

# Espalier::espalier is every layer declared so far.
function(espalier_all)
  add_library(espalier_all INTERFACE)
  add_library(Espalier::espalier ALIAS espalier_all)
  set_target_properties(espalier_all PROPERTIES EXPORT_NAME espalier)
  target_include_directories(espalier_all INTERFACE $<BUILD_INTERFACE:${ESPALIER_INCLUDE_DIR}>
                                                    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_libraries(espalier_all INTERFACE ${ESPALIER_LAYERS})
  set(ESPALIER_LAYERS ${ESPALIER_LAYERS} espalier_all CACHE INTERNAL "")
endfunction()

# LLVM as the shared library: its headers reach the layer and its tests only.
function(espalier_use_llvm)
  find_package(LLVM 19.1 CONFIG REQUIRED HINTS /usr/lib/llvm-19)
  separate_arguments(definitions NATIVE_COMMAND "${LLVM_DEFINITIONS}")
  foreach(target IN LISTS ARGN)
    if(TARGET ${target})
      target_include_directories(${target} SYSTEM PRIVATE ${LLVM_INCLUDE_DIRS})
      target_compile_definitions(${target} PRIVATE ${definitions})
      target_link_libraries(${target} PRIVATE LLVM)
    endif()
  endforeach()
endfunction()

# Eigen is header-only and optional for callers, so only its include folder is taken, and never exported.
function(espalier_use_eigen)
  find_package(Eigen3 QUIET NO_MODULE)
  if(TARGET Eigen3::Eigen)
    get_target_property(include_dirs Eigen3::Eigen INTERFACE_INCLUDE_DIRECTORIES)
    foreach(target IN LISTS ARGN)
      if(TARGET ${target})
        target_include_directories(${target} SYSTEM PRIVATE ${include_dirs})
      endif()
    endforeach()
  endif()
endfunction()
