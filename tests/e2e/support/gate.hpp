// The FIFOs at which a batch of the plugin "gated" waits, see plugins/gated.cpp.
#pragma once

#include <string>

#include <gristmill/engine.hpp>

#include "support/scratch.hpp"

namespace gristmill::e2e {

class Gate {
  public:
    Gate();
    ~Gate();
    Gate(const Gate &) = delete;
    Gate &operator=(const Gate &) = delete;

    PluginSpec plugin() const;
    void await_arrival() const; // of one batch
    void open() const;          // for one batch

  private:
    const Scratch scratch_;
    int arrived_ = -1;
    int go_ = -1;
};

} // namespace gristmill::e2e
