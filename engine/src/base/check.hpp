// GM_CHECK: a programmer's error ends the process at once, with the place. On in release.
#pragma once

namespace gristmill {
[[noreturn, gnu::cold]] void check_failed(const char *condition, const char *file, int line);
}

#define GM_CHECK(condition)                                                                        \
    (static_cast<bool>(condition) ? void(0)                                                        \
                                  : ::gristmill::check_failed(#condition, __FILE__, __LINE__))
