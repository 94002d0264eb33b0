// What stands behind the public Stream.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include <gristmill/engine.hpp>

#include "engine_turn.hpp"
#include "output/sink.hpp"
#include "run.hpp"

namespace gristmill {

// Owns: the run until it has ended, and the engine's turn as long.
struct Stream::State {
    explicit State(EngineTurn::Held engine_turn) : turn(std::move(engine_turn)) {}
    ~State() { end(); }

    // Until input is read and workers work, whoever takes the output.
    Result<void> begin();
    Result<std::optional<OutputBatch>> next(const std::function<bool()> &interrupted);
    // Lets the workers go.
    void end();
    Result<std::optional<OutputBatch>> finish(Result<void> driven);

    EngineTurn::Held turn;
    output::StreamSink sink;
    std::unique_ptr<Run> run; // null: it has ended
    Report report;
    std::vector<RecordFailure> errors;
};

} // namespace gristmill
