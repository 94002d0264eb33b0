// The decoders there are, one for each format. They throw std::bad_alloc.
#pragma once

#include <memory>

#include "input/decoder.hpp"

namespace gristmill::input {

std::unique_ptr<Decoder> make_gzip_decoder();
std::unique_ptr<Decoder> make_zstd_decoder();
std::unique_ptr<Decoder> make_xz_decoder();
std::unique_ptr<Decoder> make_lz4_decoder();

} // namespace gristmill::input
