// Maps a plugin over the lines of a file, on all cores, and prints what came out.
//
//     map_file PLUGIN.so FILE
#include <gristmill/engine.hpp>

#include <cstdio>
#include <string_view>

int main(int count, char **values) {
    if (count != 3) {
        std::fprintf(stderr, "usage: map_file PLUGIN.so FILE\n");
        return 2;
    }
    auto engine = gristmill::Engine::create({}); // one worker for each CPU
    if (!engine) {
        std::fprintf(stderr, "%s\n", engine.error().message.c_str());
        return 2;
    }
    gristmill::RunOptions options;
    options.on_error = gristmill::OnError::skip; // a bad record costs itself, not the run

    const auto results = engine->map(gristmill::PluginSpec{values[1]}, {values[2]}, options);
    if (!results) {
        std::fprintf(stderr, "%s\n", results.error().message.c_str());
        return 2;
    }
    if (results->size() > 0) {
        const auto record = (*results)[0];
        std::printf("first record: %.*s\n", static_cast<int>(record.size()),
                    reinterpret_cast<const char *>(record.data()));
    }
    std::fputs(results->report().to_string().c_str(), stdout);
}
