// The streams are what they were: the reference stream as published, the others as first made.
//
// The values are XXH3-128 digests. Those of light, medium and heavy were taken of bytes whose
// sha256 had been compared with the published ones: quick to compute, and no cryptographic library
// is needed here. To repeat the comparison, generate a file and run sha256sum on it.
#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include "digest.hpp"
#include "generate.hpp"

namespace gristmill::datagen {
namespace {

struct Published {
    RecordSet set;
    std::uint64_t records;
    const char *digest;
    std::uint64_t bytes; // 0 where none is published
};

/// Digest and size of the first records of a stream, in memory of a few megabytes.
std::string digest_of(const GenerateSpec &spec, std::uint64_t &bytes) {
    Digest digest;
    bytes = 0;
    const auto error = generate_chunks(spec, [&](const Chunk &chunk) {
        digest.add(chunk.bytes);
        bytes += chunk.bytes.size();
        return true;
    });
    EXPECT_FALSE(error);
    return digest.text();
}

class Reference : public testing::TestWithParam<Published> {};

TEST_P(Reference, IsThePublishedOne) {
    const Published &published = GetParam();
    std::uint64_t bytes = 0;
    EXPECT_EQ(digest_of({.set = published.set, .records = published.records}, bytes),
              published.digest);
    if (published.bytes != 0) {
        EXPECT_EQ(bytes, published.bytes);
    }
}

INSTANTIATE_TEST_SUITE_P(
    Published, Reference,
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

// What nobody else has published. When one of these has to change, so has the manifest's format.

TEST(OwnDigest, TokenizeReference) {
    std::uint64_t bytes = 0;
    EXPECT_EQ(digest_of({.set = RecordSet::tokenize, .records = 50000}, bytes),
              "c96d97bffa6603fb974975ec64d8b57b");
    EXPECT_EQ(bytes, 98884608u);
    EXPECT_EQ(
        digest_of({.set = RecordSet::tokenize, .records = 10000, .large_documents = true}, bytes),
        "a3e764d7b313940ddee4ba21419bbd27");
}

struct FastDigest {
    RecordSet set;
    const char *whole;
    const char *spoilt; // malformed_pct 20
};

TEST(OwnDigest, Fast) {
    for (const FastDigest &expected :
         {FastDigest{RecordSet::light, "3e17735c3889388edc0a85fff5362b75",
                     "d1471d2e835cf9d5086c6a216a7048cb"},
          FastDigest{RecordSet::medium, "11b8f1d2f60da0f01847c9eb79274bd1",
                     "ebd31ce87cf8c9b0c806d598d84ef101"},
          FastDigest{RecordSet::heavy, "708cb25840731fbfc0b957568017e702",
                     "fb876465fa7ab9b7c5e6b0b40cd7b430"},
          FastDigest{RecordSet::tokenize, "a88e113a7e3b07aeefd10b4de2d5fade",
                     "a73f873eab8d4006201d3ab6b1a2822a"}}) {
        GenerateSpec spec{.set = expected.set, .stream = Stream::fast, .records = 20000};
        std::uint64_t bytes = 0;
        EXPECT_EQ(digest_of(spec, bytes), expected.whole) << name_of(expected.set);
        spec.malformed_pct = 20;
        EXPECT_EQ(digest_of(spec, bytes), expected.spoilt) << name_of(expected.set);
    }
}

} // namespace
} // namespace gristmill::datagen
