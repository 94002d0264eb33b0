// Which build this is: the engine and its worker program must be of the same.
#pragma once

namespace gristmill {

// A digest of the engine's sources.
const char *build_id();

} // namespace gristmill
