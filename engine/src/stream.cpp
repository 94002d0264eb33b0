#include "stream.hpp"

#include <new>
#include <utility>

namespace gristmill {

Stream::Stream(std::unique_ptr<State> state) : state_(std::move(state)) {}
Stream::Stream(Stream &&) noexcept = default;
Stream &Stream::operator=(Stream &&) noexcept = default;
Stream::~Stream() = default;

Result<std::optional<OutputBatch>> Stream::next(const std::function<bool()> &interrupted) {
    try {
        return state_->next(interrupted);
    } catch (const std::bad_alloc &) {
        state_->end();
        return Error{ErrorKind::memory, "the machine has no memory for this run"};
    }
}

void Stream::close() { state_->end(); }
bool Stream::closed() const { return state_->run == nullptr; }

Report Stream::report() const { return state_->run ? state_->run->so_far() : state_->report; }
const std::vector<RecordFailure> &Stream::errors() const { return state_->errors; }

Result<void> Stream::State::begin() {
    const Result<bool> driven = run->drive([this] { return run->under_way(); });
    run->set_interrupted({}); // that was for this call
    if (driven)
        return {};
    Result<std::optional<OutputBatch>> ended = finish(driven.error());
    return ended ? driven.error() : ended.error();
}

Result<std::optional<OutputBatch>>
Stream::State::next(const std::function<bool()> &interrupted) {
    if (!run)
        return std::optional<OutputBatch>();
    sink.clear();
    run->set_interrupted(interrupted);
    Result<bool> driven = run->drive([this] { return sink.batch().has_value(); });
    if (driven && !*driven)
        return sink.batch();
    return finish(driven ? Result<void>() : driven.error());
}

Result<std::optional<OutputBatch>> Stream::State::finish(Result<void> driven) {
    Result<RunOutcome> outcome = run->finish(std::move(driven));
    end();
    if (!outcome)
        return outcome.error();
    report = std::move(outcome->report);
    errors = std::move(outcome->errors);
    return std::optional<OutputBatch>();
}

void Stream::State::end() {
    if (run)
        report = run->so_far();
    run.reset();
    turn.reset();
}

} // namespace gristmill
