// xxHash, compiled into the code that uses it: a hash of a few bytes costs less than a call.
#ifndef GRISTMILL_DATAGEN_XXHASH_INLINE_HPP
#define GRISTMILL_DATAGEN_XXHASH_INLINE_HPP

#ifndef XXH_INLINE_ALL
#define XXH_INLINE_ALL
#endif
#include <xxhash.h>

#endif
