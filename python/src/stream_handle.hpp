// A stream of the engine, for Python.
#pragma once

#include <atomic>
#include <memory>
#include <optional>

#include <pybind11/pybind11.h>

#include <gristmill/engine.hpp>

#include "batch_data.hpp"
#include "engine_call.hpp"
#include "item_pump.hpp"

namespace gristmill::python {

// Threads: one at a time, with the GIL; it is free while the engine works.
// Owns:    the stream, and all that its run was told.
class StreamHandle {
  public:
    StreamHandle(const Work &work, RunOptions options, py::object progress);
    StreamHandle(const StreamHandle &) = delete;
    StreamHandle &operator=(const StreamHandle &) = delete;
    ~StreamHandle() { close(); }

    void open(Engine &engine, const Sources &sources);
    void open(Engine &engine, std::shared_ptr<ItemPump> items);

    // Moves to the next batch; false at the end. `interruptible`: this is the main thread.
    bool next(bool interruptible);
    // Of the batch in hand: its records, or the objects that they are (items).
    py::list records() const;
    py::list objects() const;
    // Of the batch in hand: what exports its bytes where they are (see BatchData), until the next call
    // of next() or close().
    py::object view();

    // By any thread: ends a next() that is under way soon, as if that were the end.
    void cancel() { cancelled_.store(true); }
    void close();
    py::dict report() const;
    py::list errors() const;

  private:
    template <class Visit>
    void for_each_record(Visit &&visit) const;

    RunOptions options_;
    LocalWork work_;
    py::object progress_;
    ProgressTeller teller_;
    std::shared_ptr<ItemPump> items_;
    std::optional<Stream> stream_;
    std::optional<OutputBatch> batch_;
    std::optional<BatchData> exported_;
    std::atomic<bool> cancelled_{false};
};

} // namespace gristmill::python
