// One run of an engine at a time.
#pragma once

#include <memory>
#include <semaphore>

namespace gristmill {

// Unlike a mutex, a turn may be ended by another thread than the one that took it: streams are
// closed wherever they happen to be.
class EngineTurn {
  public:
    struct Ends {
        void operator()(std::binary_semaphore *semaphore) const { semaphore->release(); }
    };
    using Held = std::unique_ptr<std::binary_semaphore, Ends>;

    // Waits for the turns that were taken before.
    Held take() {
        free_.acquire();
        return Held(&free_);
    }

  private:
    std::binary_semaphore free_{1};
};

} // namespace gristmill
