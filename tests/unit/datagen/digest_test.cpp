// The reference stream reproduces the published data.
//
// The values are XXH3-128 digests, taken of bytes whose sha256 had been compared with the
// published ones: quick to compute, and no cryptographic library is needed here. To repeat the
// comparison, generate a file and run sha256sum on it.
#define XXH_INLINE_ALL
#include <cstdint>
#include <cstdio>
#include <string>

#include <gtest/gtest.h>
#include <xxhash.h>

#include "generate.hpp"
#include "record_stream.hpp"

namespace gristmill::datagen {
namespace {

struct Published {
    RecordSet set;
    std::uint64_t records;
    const char *digest;
    std::uint64_t bytes; // 0 where none is published
};

/// Digest and size of the first records of a reference stream, in memory of a few megabytes.
std::string digest_of(RecordSet set, std::uint64_t records, std::uint64_t &bytes) {
    const auto stream = open_reference_stream({.set = set});
    XXH3_state_t state;
    XXH3_128bits_reset(&state);
    bytes = 0;
    std::string part;
    for (std::uint64_t done = 0; done < records; done += 1000) {
        part.clear();
        stream->append(part, 1000);
        XXH3_128bits_update(&state, part.data(), part.size());
        bytes += part.size();
    }
    const XXH128_hash_t hash = XXH3_128bits_digest(&state);
    char text[33];
    std::snprintf(text, sizeof text, "%016llx%016llx", static_cast<unsigned long long>(hash.high64),
                  static_cast<unsigned long long>(hash.low64));
    return text;
}

class Digest : public testing::TestWithParam<Published> {};

TEST_P(Digest, IsThePublishedOne) {
    const Published &published = GetParam();
    std::uint64_t bytes = 0;
    EXPECT_EQ(digest_of(published.set, published.records, bytes), published.digest);
    if (published.bytes != 0) {
        EXPECT_EQ(bytes, published.bytes);
    }
}

INSTANTIATE_TEST_SUITE_P(
    Reference, Digest,
    testing::Values(Published{RecordSet::light, 50000, "e4deeba54728ee45339b739f249a9c60", 0},
                    Published{RecordSet::light, 1000000, "bf0a232a9c169710f64f3c802ded235b", 0},
                    Published{RecordSet::light, 5000000, "96469a70c04b5e0bd318438f0dd596ed",
                              532711015},
                    Published{RecordSet::medium, 50000, "c3d5f632c41b3ba95760859947bfb1ea", 0},
                    Published{RecordSet::medium, 1000000, "ba13a71c50dc257074b9a4735be75a5f", 0},
                    Published{RecordSet::heavy, 50000, "26095c6694c97dcc42f1e5aa5d127322", 0}),
    [](const testing::TestParamInfo<Published> &tested) {
        return std::string(name_of(tested.param.set)) + "_" + std::to_string(tested.param.records);
    });

} // namespace
} // namespace gristmill::datagen
