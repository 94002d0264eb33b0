// Writes one file of records:
//     datagen_writer SET STREAM RECORDS MALFORMED_PCT COMPRESSION FILE
// Exit status 1, with the reason on standard error, when that fails.
#include <cstdlib>
#include <iostream>

#include "generate.hpp"
#include "manifest.hpp"

int main(int argc, char **argv) {
    using namespace gristmill::datagen;
    if (argc != 7)
        return 2;
    const auto set = record_set_of(argv[1]);
    const auto stream = stream_of(argv[2]);
    const auto compression = compression_of(argv[5]);
    if (!set || !stream || !compression)
        return 2;
    const GenerateSpec spec{.set = *set,
                            .stream = *stream,
                            .records = std::strtoull(argv[3], nullptr, 10),
                            .malformed_pct = std::strtod(argv[4], nullptr),
                            .compression = *compression};
    auto error = generate(spec, argv[6]);
    if (!error)
        error = verify(argv[6]);
    if (error)
        std::cerr << error->what << '\n';
    return error ? 1 : 0;
}
