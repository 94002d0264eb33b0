// Labelled steps at which a test may end the process. The product has none: they exist only in the
// worker program that tests build with GRISTMILL_CRASH_POINTS.
#pragma once

namespace gristmill::os {

#if defined(GRISTMILL_CRASH_POINTS)
void crash_point(const char *label) noexcept; // tests/e2e/support/crash_point.cpp
#else
inline void crash_point(const char *) noexcept {}
#endif

} // namespace gristmill::os
