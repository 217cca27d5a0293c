# Libraries of the compiler and its tools (the runtime needs none of them): jansson, zlib and
# SPIRV-Tools, as interface targets adept_jansson, adept_zlib, adept_spirv_tools, and SPIRV-Headers
# by include path. Debian 12 ships SPIRV-Tools as an archive only; it is C++, so whoever links the
# archive from C brings the C++ runtime along.

if(ADEPT_STATIC_DEPS)
  set(CMAKE_FIND_LIBRARY_SUFFIXES .a)
endif()

function(adept_dependency name library header)
  find_library(ADEPT_${name}_LIBRARY NAMES ${library} REQUIRED)
  find_path(ADEPT_${name}_INCLUDE ${header} REQUIRED)
  add_library(adept_${name} INTERFACE)
  target_link_libraries(adept_${name} INTERFACE ${ADEPT_${name}_LIBRARY})
  target_include_directories(adept_${name} SYSTEM INTERFACE ${ADEPT_${name}_INCLUDE})
endfunction()

adept_dependency(jansson jansson jansson.h)
adept_dependency(zlib z zlib.h)
adept_dependency(spirv_tools SPIRV-Tools spirv-tools/libspirv.h)
find_path(ADEPT_SPIRV_HEADERS spirv/unified1/spirv.h REQUIRED)

if(ADEPT_STATIC_DEPS)
  target_link_libraries(adept_spirv_tools INTERFACE -l:libstdc++.a m)
  target_link_options(adept_spirv_tools INTERFACE -static-libgcc)
elseif(ADEPT_spirv_tools_LIBRARY MATCHES "\\.a$")
  target_link_libraries(adept_spirv_tools INTERFACE stdc++ m)
endif()
