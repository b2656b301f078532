# cmake/build.cmake -- compiler flags and the functions that turn lists of sources into targets.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_SCAN_FOR_MODULES OFF)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -g1")
set(CMAKE_CXX_FLAGS_DEBUG "-O0 -g")

# Libraries and programs share one folder: plug-ins and the kernel pack are looked for beside the code that asks for them.
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)

set(RESILIN_SANITIZE "" CACHE STRING "Value of -fsanitize=, empty for none")

find_program(RESILIN_CCACHE ccache)
if(RESILIN_CCACHE)
  # Without this sloppiness ccache refuses sources that use a precompiled header.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${RESILIN_CCACHE})
endif()

find_package(Threads REQUIRED)

# Flags of everything that is compiled here.
add_library(resilin_flags INTERFACE)
target_compile_options(resilin_flags INTERFACE -Wall -Wextra -Wpedantic -Werror -ffp-contract=off)
target_include_directories(resilin_flags INTERFACE ${PROJECT_SOURCE_DIR}/src)
target_link_libraries(resilin_flags INTERFACE Threads::Threads ${CMAKE_DL_LIBS})
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(resilin_flags INTERFACE -fpch-preprocess)
else()
  target_compile_options(resilin_flags INTERFACE "SHELL:-Xclang -fno-pch-timestamp")
endif()
if(RESILIN_SANITIZE)
  target_compile_options(resilin_flags INTERFACE -fsanitize=${RESILIN_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(resilin_flags INTERFACE -fsanitize=${RESILIN_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # Which in instrumented code sees what is not there: a move of a variant, for one.
    target_compile_options(resilin_flags INTERFACE -Wno-maybe-uninitialized)
  endif()
endif()

# Instruction sets are chosen by the end of a file's name; the code in such a file runs only after a CPUID check.
function(resilin_isa_flags)
  if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    return()
  endif()
  set(avx2 -mavx2 -mfma -mf16c)
  set(avx512 ${avx2} -mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx512bf16)
  set(amx ${avx512} -mamx-tile -mamx-bf16)
  foreach(file ${ARGN})
    if(file MATCHES "_(avx2|avx512|amx)\\.cpp$")
      set(options ${${CMAKE_MATCH_1}})
      # Instrumented, a micro-kernel takes a quarter of an hour to compile. As with generated code, guard pages watch its memory.
      if(RESILIN_SANITIZE AND file MATCHES "/kernel_")
        list(APPEND options -fno-sanitize=all)
      endif()
      set_source_files_properties(${file} DIRECTORY ${PROJECT_SOURCE_DIR} PROPERTIES COMPILE_OPTIONS "${options}" SKIP_PRECOMPILE_HEADERS ON)
    endif()
  endforeach()
endfunction()

# resilin_sources(<folder> <file>...) adds files of src/resilin/<folder> to the library.
function(resilin_sources folder)
  list(TRANSFORM ARGN PREPEND src/resilin/${folder}/ OUTPUT_VARIABLE paths)
  resilin_isa_flags(${paths})
  set_property(GLOBAL APPEND PROPERTY RESILIN_SOURCES ${paths})
endfunction()

# A hash of the sources between the text of a nest and its code is part of the key of every cached kernel, so that a changed generator never meets
# kernels of the old one. It is taken at each build, and costs a compile only when it changes.
function(resilin_fingerprint target)
  file(GLOB sources CONFIGURE_DEPENDS
    ${PROJECT_SOURCE_DIR}/src/resilin/loop/*.cpp
    ${PROJECT_SOURCE_DIR}/src/resilin/loop/*.h
    ${PROJECT_SOURCE_DIR}/src/resilin/codegen/llvm/*.cpp
    ${PROJECT_SOURCE_DIR}/src/resilin/codegen/llvm/*.h
  )
  list(APPEND sources
    ${PROJECT_SOURCE_DIR}/src/resilin/codegen/compile.cpp
    ${PROJECT_SOURCE_DIR}/src/resilin/codegen/generate.cpp
    ${PROJECT_SOURCE_DIR}/src/resilin/codegen/image.cpp
    ${PROJECT_SOURCE_DIR}/src/resilin/codegen/kernel.h
    ${PROJECT_SOURCE_DIR}/src/resilin/codegen/link.cpp
  )
  set(script ${PROJECT_SOURCE_DIR}/cmake/fingerprint.cmake)
  set(output ${PROJECT_BINARY_DIR}/fingerprint.cpp)
  add_custom_command(
    OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} "-DSOURCES=${sources}" -DOUTPUT=${output} -P ${script}
    DEPENDS ${sources} ${script}
    COMMENT "Hashing the sources of the generator"
    VERBATIM
  )
  target_sources(${target} PRIVATE ${output})
endfunction()

# The objects (which tests link, to reach what is hidden) and the shared library made of them.
function(resilin_library)
  get_property(sources GLOBAL PROPERTY RESILIN_SOURCES)
  add_library(resilin_objects OBJECT ${sources})
  set_target_properties(resilin_objects PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_link_libraries(resilin_objects PUBLIC resilin_flags)
  # Of the standard library alone: that every header names what it needs is seen where each is compiled by itself.
  target_precompile_headers(resilin_objects PRIVATE
    <algorithm> <array> <atomic> <cmath> <cstdint> <functional> <map> <memory> <mutex> <optional> <set> <span> <string> <string_view>
    <unordered_map> <utility> <variant> <vector>
  )
  resilin_fingerprint(resilin_objects)

  add_library(resilin SHARED)
  set(map ${PROJECT_SOURCE_DIR}/cmake/resilin.map)
  target_link_libraries(resilin PRIVATE resilin_objects)
  target_include_directories(resilin INTERFACE ${PROJECT_SOURCE_DIR}/src)
  # Pool threads and mapped kernels live as long as the process, so the code stays too.
  target_link_options(resilin PRIVATE -Wl,--version-script=${map} -Wl,-z,nodelete)
  set_target_properties(resilin PROPERTIES LINKER_LANGUAGE CXX LINK_DEPENDS ${map} SOVERSION 0 VERSION ${PROJECT_VERSION})
endfunction()

# resilin_plugin_llvm(<file>...) makes libresilin_llvm.so of files of src/resilin/codegen/llvm; nothing when the list is empty.
function(resilin_plugin_llvm)
  if(NOT ARGN)
    return()
  endif()
  find_program(RESILIN_LLVM_CONFIG llvm-config-19 REQUIRED)
  execute_process(COMMAND ${RESILIN_LLVM_CONFIG} --includedir OUTPUT_VARIABLE include OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND ${RESILIN_LLVM_CONFIG} --libdir OUTPUT_VARIABLE libdir OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  list(TRANSFORM ARGN PREPEND src/resilin/codegen/llvm/)
  add_library(resilin_llvm MODULE ${ARGN})
  target_include_directories(resilin_llvm SYSTEM PRIVATE ${include})
  target_compile_options(resilin_llvm PRIVATE -fno-rtti)
  # LLVM's headers take seconds in each file.
  target_precompile_headers(resilin_llvm PRIVATE <functional> <string> <vector> <llvm/IR/IRBuilder.h> <llvm/IR/Module.h> <llvm/Target/TargetMachine.h>)
  target_link_libraries(resilin_llvm PRIVATE resilin_flags ${libdir}/libLLVM-19.so)
  if(RESILIN_SANITIZE)
    target_compile_options(resilin_llvm PRIVATE -fno-sanitize=vptr)  # which needs RTTI
  else()
    target_link_options(resilin_llvm PRIVATE -Wl,-z,defs)  # it may not lean on libresilin
  endif()
endfunction()

# resilin_plugin_ucx(<file>...) makes libresilin_ucx.so of files of src/resilin/dist/transport/ucx; nothing when the list is empty.
function(resilin_plugin_ucx)
  if(NOT ARGN)
    return()
  endif()
  find_path(RESILIN_UCX_INCLUDE ucp/api/ucp.h REQUIRED)
  find_library(RESILIN_UCP ucp REQUIRED)
  find_library(RESILIN_UCS ucs REQUIRED)
  list(TRANSFORM ARGN PREPEND src/resilin/dist/transport/ucx/)
  add_library(resilin_ucx MODULE ${ARGN})
  target_include_directories(resilin_ucx SYSTEM PRIVATE ${RESILIN_UCX_INCLUDE})
  target_link_libraries(resilin_ucx PRIVATE resilin_flags ${RESILIN_UCP} ${RESILIN_UCS})
  if(NOT RESILIN_SANITIZE)
    target_link_options(resilin_ucx PRIVATE -Wl,-z,defs)  # it may not lean on libresilin
  endif()
endfunction()

# resilin_tool(<file>...) makes the program `resilin` of files of tools/resilin, and of all but its main function a library that tests link; nothing
# when the list is empty. The program holds the library's objects, since it uses what libresilin.so hides.
function(resilin_tool)
  if(NOT ARGN)
    return()
  endif()
  find_path(RESILIN_TOMLPLUSPLUS_INCLUDE toml++/toml.h)
  if(NOT RESILIN_TOMLPLUSPLUS_INCLUDE)
    message(FATAL_ERROR "toml++/toml.h is missing, which reads the configuration of `resilin train`: install Debian's libtomlplusplus-dev "
      "(tools/install.sh build does), or set RESILIN_TOMLPLUSPLUS_INCLUDE to the folder that holds toml++/")
  endif()
  list(REMOVE_ITEM ARGN main.cpp)
  list(TRANSFORM ARGN PREPEND tools/resilin/)
  add_library(resilin_tool STATIC ${ARGN})
  target_include_directories(resilin_tool PUBLIC ${PROJECT_SOURCE_DIR})
  target_include_directories(resilin_tool SYSTEM PRIVATE ${RESILIN_TOMLPLUSPLUS_INCLUDE})
  # Some texts ("[.a]") break an assertion of toml++ 3.3, which would end the process. Here it throws std::out_of_range, from a function, since compilers
  # warn of a throw expression in what is noexcept. With NDEBUG it would be assumed to hold.
  set_source_files_properties(tools/resilin/train_config.cpp PROPERTIES COMPILE_OPTIONS
    "-UNDEBUG;-DTOML_ASSERT(condition)=((condition)?void():void(std::string_view().at(0)))")
  target_link_libraries(resilin_tool PUBLIC resilin_flags)
  add_executable(resilin_program tools/resilin/main.cpp)
  set_target_properties(resilin_program PROPERTIES OUTPUT_NAME resilin)
  target_link_libraries(resilin_program PRIVATE resilin_tool resilin_objects)
  foreach(plugin resilin_llvm resilin_ucx)
    if(TARGET ${plugin})
      add_dependencies(resilin_program ${plugin})
    endif()
  endforeach()
endfunction()

# resilin_kernel_pack(<file>...) makes the build's kernel pack by a program of files of tools/pack; nothing without the compiler plug-in.
function(resilin_kernel_pack)
  if(NOT TARGET resilin_llvm)
    return()
  endif()
  list(TRANSFORM ARGN PREPEND tools/pack/)
  add_executable(resilin_pack ${ARGN})
  target_include_directories(resilin_pack PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(resilin_pack PRIVATE resilin_objects)
  set(pack ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/resilin.pack)
  add_custom_command(
    OUTPUT ${pack}
    COMMAND resilin_pack ${pack}
    DEPENDS resilin_pack resilin_llvm
    COMMENT "Making the kernel pack"
    VERBATIM
  )
  add_custom_target(kernel_pack ALL DEPENDS ${pack})
endfunction()
