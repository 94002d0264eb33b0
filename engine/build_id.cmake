# Writes OUTPUT, a source file with a digest of all sources below FOLDER.
file(GLOB_RECURSE sources ${FOLDER}/src/*.cpp ${FOLDER}/src/*.hpp ${FOLDER}/include/gristmill/*)
list(SORT sources)
set(digests "")
foreach(source IN LISTS sources)
  file(SHA256 ${source} digest)
  string(APPEND digests ${digest})
endforeach()
string(SHA256 digest "${digests}")
file(WRITE ${OUTPUT} "#include \"build_id.hpp\"

namespace gristmill {
const char *build_id() { return \"${digest}\"; }
} // namespace gristmill
")
