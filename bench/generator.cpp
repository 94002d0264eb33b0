// How fast the record sets are generated to memory: each chunk is made where the one before it lay,
// and goes nowhere. Bytes per second of real time; the argument is the number of threads.
#include <cstdint>
#include <string>

#include <benchmark/benchmark.h>

#include "generate.hpp"

namespace {

using namespace gristmill::datagen;

void generate_to_memory(benchmark::State &state, RecordSet set, Stream stream) {
    constexpr std::uint64_t bytes_wanted = 400'000'000;
    GenerateSpec spec{.set = set, .stream = stream, .records = 1000};
    std::string sample;
    append_records(spec, sample);
    spec.records = bytes_wanted / (sample.size() / spec.records);
    spec.threads = static_cast<std::uint32_t>(state.range(0));
    std::uint64_t bytes = 0, records = 0;
    for (auto _ : state) {
        const auto failed = generate_chunks(spec, [&](const Chunk &chunk) {
            bytes += chunk.bytes.size();
            records += chunk.records;
            return true;
        });
        if (failed)
            state.SkipWithError(failed->what.c_str());
    }
    state.SetBytesProcessed(static_cast<std::int64_t>(bytes));
    state.SetItemsProcessed(static_cast<std::int64_t>(records));
}

void register_all() {
    for (const Stream stream : {Stream::fast, Stream::reference}) {
        for (const RecordSet set :
             {RecordSet::light, RecordSet::medium, RecordSet::heavy, RecordSet::tokenize}) {
            const std::string name = std::string(name_of(set)) + "/" + std::string(name_of(stream));
            auto *bench = benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State &state) {
                generate_to_memory(state, set, stream);
            });
            bench->ArgName("threads")->Arg(1)->UseRealTime()->Unit(benchmark::kMillisecond);
            if (stream == Stream::fast)
                bench->Arg(2);
        }
    }
}

} // namespace

int main(int argc, char **argv) {
    register_all();
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv))
        return 1;
    benchmark::RunSpecifiedBenchmarks();
    benchmark::Shutdown();
}
