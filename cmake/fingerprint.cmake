# cmake/fingerprint.cmake -- writes a source file with the hash of the sources that turn the text of a nest into code: cmake -DSOURCES=<list> -DOUTPUT=<file> -P.
set(hashes "")
foreach(file IN LISTS SOURCES)
  file(SHA256 ${file} hash)
  string(APPEND hashes ${hash})
endforeach()
string(SHA256 hash "${hashes}")
string(SUBSTRING ${hash} 0 16 hash)
set(content "// Made by cmake/fingerprint.cmake.
#include \"resilin/codegen/fingerprint.h\"

namespace resilin {

const std::uint64_t kCodegenFingerprint = 0x${hash};

}  // namespace resilin
")
if(EXISTS ${OUTPUT})
  file(READ ${OUTPUT} before)
endif()
# Left alone when it says the same, so that nothing is compiled again.
if(NOT "${before}" STREQUAL "${content}")
  file(WRITE ${OUTPUT} "${content}")
endif()
