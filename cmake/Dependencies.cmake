# Every library is a Debian 12 package; scripts/bootstrap installs what is missing.
# Small ones that few programs share are linked statically where their archives are installed: the loader
# takes a quarter of a millisecond for each shared library, at every start. Those that get security updates
# most often (OpenSSL, curl, zlib, SQLite) stay shared.
find_library(boost_json_ARCHIVE libboost_json.a)
if(boost_json_ARCHIVE)
  set(Boost_USE_STATIC_LIBS ON)
endif()
find_package(Boost 1.81 CONFIG REQUIRED COMPONENTS json)
find_package(OpenSSL REQUIRED)
find_package(CURL REQUIRED)
find_package(SQLite3 REQUIRED)
find_package(ZLIB REQUIRED)
find_package(fmt REQUIRED)
find_package(CLI11 REQUIRED)
find_package(GTest REQUIRED)
find_package(Threads REQUIRED)
find_package(prometheus-cpp REQUIRED COMPONENTS core)
find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${CCACHE})
endif()
find_package(PkgConfig REQUIRED)
pkg_check_modules(re2 REQUIRED IMPORTED_TARGET re2)
pkg_check_modules(gumbo REQUIRED IMPORTED_TARGET gumbo)
pkg_check_modules(yaml REQUIRED IMPORTED_TARGET yaml-cpp)
pkg_check_modules(termpaint REQUIRED IMPORTED_TARGET termpaint)
pkg_check_modules(md4c REQUIRED IMPORTED_TARGET md4c)
pkg_check_modules(hs REQUIRED IMPORTED_TARGET libhs)  # Vectorscan.

# An archive that needs other libraries (RE2 in later releases) is left out.
foreach(library re2 gumbo yaml)
  list(LENGTH ${library}_STATIC_LIBRARIES count)
  find_library(${library}_ARCHIVE lib${${library}_MODULE_NAME}.a)
  if(count EQUAL 1 AND ${library}_ARCHIVE)
    set_property(TARGET PkgConfig::${library} PROPERTY INTERFACE_LINK_LIBRARIES ${${library}_ARCHIVE})
  endif()
endforeach()
