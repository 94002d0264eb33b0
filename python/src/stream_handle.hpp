// A stream of the engine, for Python.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <sys/types.h>

#include <pybind11/pybind11.h>

#include <gristmill/engine.hpp>

#include "batch_data.hpp"
#include "engine_call.hpp"
#include "item_pump.hpp"

namespace gristmill::python {

// Threads: one at a time, with the GIL; it is free while the engine works. In a forked child nothing
//          is done: the run is the parent's.
// Owns:    the stream, and all that its run was told.
class StreamHandle {
  public:
    StreamHandle(const Work &work, RunOptions options, py::object progress);
    StreamHandle(const StreamHandle &) = delete;
    StreamHandle &operator=(const StreamHandle &) = delete;
    ~StreamHandle() { close(); }

    // `interruptible`: this is the main thread.
    void open(Engine &engine, const Sources &sources, bool interruptible);
    void open(Engine &engine, std::shared_ptr<ItemPump> items, bool interruptible);

    // Moves to the next batch; false at the end.
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
    template <class From>
    void open_from(Engine &engine, const From &from, bool interruptible);
    template <class Visit>
    void for_each_record(Visit &&visit) const;

    RunOptions options_;
    LocalWork work_;
    py::object progress_;
    ProgressTeller teller_;
    std::shared_ptr<ItemPump> items_;
    std::unique_ptr<Stream> stream_;
    const pid_t process_;
    std::optional<OutputBatch> batch_;
    std::optional<BatchData> exported_;
    std::atomic<bool> cancelled_{false};
};

} // namespace gristmill::python
