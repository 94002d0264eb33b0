// The kernels: how fast the bundled payloads work, without an engine around them. One thread, input
// in memory, batches of the size that workers read.
//
//     bench_kernels [--corpus=FILE] [--benchmark_...]
//
// Each payload on the usual layout and on its strict path, beside simdjson's bare parse of the same
// records: records and bytes of input per second. Records come from the reference stream; those of
// "tokenize" with --corpus from FILE, which has its vocabulary beside it in FILE.vocab. A payload's
// counts are checked before it is timed.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <unistd.h>
#include <vector>

#include <benchmark/benchmark.h>
#include <simdjson.h>

#include <gristmill/plugin.h>

#include "document_vocabulary.hpp"
#include "generate.hpp"

namespace {

using namespace gristmill;

constexpr std::size_t batch_bytes = std::size_t{512} << 10;
constexpr std::size_t input_bytes_max = std::size_t{64} << 20;

[[noreturn]] void give_up(const std::string &why) {
    std::fprintf(stderr, "bench_kernels: %s\n", why.c_str());
    std::exit(1);
}

struct Batch {
    std::string_view data;
    std::uint64_t records;
};

/// Whole records in memory, padded, cut into batches.
class Input {
  public:
    explicit Input(std::string bytes) : bytes_(std::move(bytes)) {
        const std::size_t size = bytes_.size();
        bytes_.append(simdjson::SIMDJSON_PADDING + GM_BATCH_PADDING, '\0');
        const std::string_view all(bytes_.data(), size);
        for (std::size_t at = 0; at < size;) {
            const std::size_t end = all.find('\n', std::min(at + batch_bytes, size) - 1) + 1;
            const std::string_view data = all.substr(at, end - at);
            const auto lines = std::count(data.begin(), data.end(), '\n');
            batches_.push_back({data, static_cast<std::uint64_t>(lines)});
            records_ += batches_.back().records;
            at = end;
        }
    }

    const std::vector<Batch> &batches() const { return batches_; }
    std::uint64_t records() const { return records_; }
    std::uint64_t bytes() const {
        return bytes_.size() - simdjson::SIMDJSON_PADDING - GM_BATCH_PADDING;
    }

  private:
    std::string bytes_;
    std::vector<Batch> batches_;
    std::uint64_t records_ = 0;
};

/// A plugin with one state, whose output goes into one warm buffer and is forgotten.
class Kernel {
  public:
    Kernel(const std::string &path, const std::string &config) {
        void *const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (library == nullptr)
            give_up(dlerror());
        plugin_ = static_cast<const struct gm_plugin *>(dlsym(library, "gm_plugin"));
        if (plugin_ == nullptr)
            give_up(path + " is no plugin");
        host_.struct_size = sizeof host_;
        host_.abi_version = GM_PLUGIN_ABI_VERSION;
        host_.cancelled = [](const gm_host *) { return 0; };
        host_.explain = [](const gm_host *, const char *text) { give_up(text); };
        state_ = plugin_->create(config.c_str(), &host_);
        if (state_ == nullptr)
            give_up(path + " does not start");
    }
    ~Kernel() { plugin_->destroy(state_); }
    Kernel(const Kernel &) = delete;
    Kernel &operator=(const Kernel &) = delete;

    /// Ends the program if the plugin does not account for every record.
    void process(const Batch &input) {
        static constexpr std::uint8_t delimiter = '\n';
        gm_batch batch{};
        batch.struct_size = sizeof batch;
        batch.data = reinterpret_cast<const std::uint8_t *>(input.data.data());
        batch.size = input.data.size();
        batch.record_count = input.records;
        batch.delimiter = &delimiter;
        batch.delimiter_size = 1;
        gm_output out{};
        out.struct_size = sizeof out;
        out.context = this;
        out.reserve = reserve;
        out.commit = [](gm_output *, std::uint64_t) {};
        out.fail_record = [](gm_output *to, std::uint64_t, const char *) { ++to->failed; };
        if (plugin_->process(state_, &batch, &out) != GM_OK)
            give_up("a batch failed");
        if (out.emitted + out.filtered + out.failed != input.records)
            give_up("the counts do not add up");
        emitted_ += out.emitted;
    }

    std::uint64_t emitted() const { return emitted_; }

  private:
    static std::uint8_t *reserve(gm_output *out, std::uint64_t bytes) {
        auto &room = static_cast<Kernel *>(out->context)->room_;
        if (room.size() < bytes)
            room.resize(bytes);
        return room.data();
    }

    const struct gm_plugin *plugin_ = nullptr;
    void *state_ = nullptr;
    gm_host host_{};
    std::vector<std::uint8_t> room_;
    std::uint64_t emitted_ = 0;
};

void count(benchmark::State &state, const Input &input) {
    const auto rounds = static_cast<double>(state.iterations());
    using benchmark::Counter;
    state.counters["records"] =
        Counter(rounds * static_cast<double>(input.records()), Counter::kIsRate);
    state.counters["bytes"] =
        Counter(rounds * static_cast<double>(input.bytes()), Counter::kIsRate);
}

void run_kernel(benchmark::State &state, const Input &input, const std::string &path,
                const std::string &config) {
    Kernel kernel(path, config);
    for (const Batch &batch : input.batches())
        kernel.process(batch);
    if (kernel.emitted() < input.records() * 9 / 10)
        give_up(path + " gives no result for more than a tenth of the records");
    for (auto _ : state) {
        for (const Batch &batch : input.batches())
            kernel.process(batch);
    }
    count(state, input);
}

void run_simdjson(benchmark::State &state, const Input &input) {
    simdjson::dom::parser parser;
    for (auto _ : state) {
        for (const Batch &batch : input.batches()) {
            for (std::string_view rest = batch.data; !rest.empty();) {
                const std::size_t size = rest.find('\n');
                if (parser.parse(rest.data(), size, false).error() != simdjson::SUCCESS)
                    give_up("simdjson refuses a record");
                rest.remove_prefix(size + 1);
            }
        }
    }
    count(state, input);
}

std::string reference_records(datagen::RecordSet set) {
    std::string bytes;
    for (std::uint64_t records = 50000; bytes.size() < input_bytes_max / 2; records *= 2) {
        bytes.clear();
        if (const auto error = datagen::append_records({.set = set, .records = records}, bytes))
            give_up(error->what);
    }
    return bytes;
}

/// Removed with all it holds when the program ends, also by give_up().
class Folder {
  public:
    Folder()
        : path_((std::filesystem::temp_directory_path() / "gristmill-kernels-XXXXXX").string()) {
        if (::mkdtemp(path_.data()) == nullptr)
            give_up("cannot make a temporary folder");
    }
    ~Folder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    Folder(const Folder &) = delete;
    Folder &operator=(const Folder &) = delete;

    std::string path(const std::string &name) const { return path_ + "/" + name; }

  private:
    std::string path_;
};

/// The path of a new corpus, its vocabulary beside it.
std::string reference_corpus() {
    static const Folder folder;
    const std::string path = folder.path("corpus");
    const datagen::GenerateSpec spec{.set = datagen::RecordSet::tokenize, .records = 25000};
    if (const auto error = datagen::generate(spec, path))
        give_up(error->what);
    return path;
}

std::string head_of(const std::string &path) {
    std::ifstream file(path, std::ios::binary);
    std::string bytes(input_bytes_max, '\0');
    file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    bytes.resize(static_cast<std::size_t>(file.gcount()));
    bytes.resize(bytes.rfind('\n') + 1);
    if (bytes.empty())
        give_up("no records in " + path);
    return bytes;
}

void register_set(const std::string &name, std::string bytes, const std::string &config,
                  const std::string &strict_config) {
    const auto input = std::make_shared<const Input>(std::move(bytes));
    const std::string path = GRISTMILL_PLUGIN_DIR "/" + name + ".so";
    const auto add = [](const std::string &benchmark, auto body) {
        benchmark::RegisterBenchmark(benchmark.c_str(), body)->Unit(benchmark::kMillisecond);
    };
    add(name, [=](benchmark::State &state) { run_kernel(state, *input, path, config); });
    add(name + "/strict",
        [=](benchmark::State &state) { run_kernel(state, *input, path, strict_config); });
    add(name + "/simdjson", [=](benchmark::State &state) { run_simdjson(state, *input); });
}

void register_all(std::string corpus) {
    using enum datagen::RecordSet;
    for (const auto set : {light, medium, heavy})
        register_set(std::string(name_of(set)), reference_records(set), "", "strict");
    if (corpus.empty())
        corpus = reference_corpus();
    const std::string vocabulary = datagen::vocabulary_path(corpus);
    register_set("tokenize", head_of(corpus), vocabulary, "strict:" + vocabulary);
}

} // namespace

int main(int argc, char **argv) {
    benchmark::Initialize(&argc, argv);
    constexpr std::string_view corpus_option = "--corpus=";
    std::string corpus;
    for (int i = 1; i < argc; ++i) {
        const std::string_view argument = argv[i];
        if (!argument.starts_with(corpus_option))
            give_up("unknown option " + std::string(argument));
        corpus = argument.substr(corpus_option.size());
    }
    register_all(corpus);
    benchmark::RunSpecifiedBenchmarks();
    benchmark::Shutdown();
    return 0;
}
