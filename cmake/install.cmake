# Installs libraries, headers (in the shape the build tree has) and a package file for find_package(Espalier).

include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Espalier)

install(TARGETS ${ESPALIER_LAYERS} EXPORT EspalierTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT EspalierTargets NAMESPACE Espalier:: DESTINATION ${package_dir})
foreach(layer IN ITEMS support ir schedule codegen runtime cost_model search transfer graph)
  if(EXISTS ${PROJECT_SOURCE_DIR}/${layer})
    install(DIRECTORY ${layer} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/espalier
            FILES_MATCHING PATTERN "*.h" PATTERN "internal" EXCLUDE PATTERN "test_*" EXCLUDE)
  endif()
endforeach()
if(EXISTS ${PROJECT_SOURCE_DIR}/espalier.h)
  install(FILES espalier.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/espalier)
endif()
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

configure_package_config_file(cmake/EspalierConfig.cmake.in EspalierConfig.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(EspalierConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/EspalierConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/EspalierConfigVersion.cmake
        DESTINATION ${package_dir})
