#include "base/check.hpp"

#include <cstdio>
#include <cstdlib>

namespace gristmill {

void check_failed(const char *condition, const char *file, int line) {
    std::fprintf(stderr, "gristmill: internal error: %s does not hold (%s:%d)\n", condition, file,
                 line);
    std::abort();
}

} // namespace gristmill
