// gristmill-worker: the nursery of native worker processes. Started by the engine, never by hand.
#include <cstring>
#include <utility>

#include "build_id.hpp"
#include "work/command_payload.hpp"
#include "work/nursery.hpp"
#include "work/plugin_payload.hpp"
#include "work/shared_block.hpp"
#include "work/worker_process.hpp"

namespace gristmill {

namespace {

// Keeps the library loaded as long as the factory lives.
class LoadedPluginFactory final : public work::PayloadFactory {
  public:
    LoadedPluginFactory(work::PluginLibrary library, os::FileIdentity identity, std::string config,
                        const Framing &framing)
        : library_(std::move(library)), identity_(identity),
          factory_(library_, std::move(config), framing) {}

    Result<std::unique_ptr<work::Payload>> make(const work::WorkerIdentity &identity,
                                                const work::WorkerSignals &signals) override {
        return factory_.make(identity, signals);
    }
    // A file that changed is loaded anew.
    bool still_good() const override { return os::file_identity(library_.path()) == identity_; }

  private:
    work::PluginLibrary library_;
    const os::FileIdentity identity_;
    work::PluginFactory factory_;
};

Result<std::unique_ptr<work::PayloadFactory>>
make_factory(const work::PayloadDescription &description, const Framing &framing) {
    const auto &texts = description.texts;
    if (description.kind == work::PayloadKind::command)
        return std::unique_ptr<work::PayloadFactory>(
            std::make_unique<work::CommandFactory>(texts));
    if (description.kind != work::PayloadKind::plugin || texts.size() != 3)
        return Error{ErrorKind::plugin, "native workers do not know this kind of payload"};
    const os::FileIdentity identity = os::file_identity(texts[0]);
    Result<work::PluginLibrary> library = work::PluginLibrary::load(texts[0], texts[1]);
    if (!library)
        return library.error();
    return std::unique_ptr<work::PayloadFactory>(std::make_unique<LoadedPluginFactory>(
        std::move(*library), identity, texts[2], framing));
}

int serve_as_nursery(const char *expected_build) {
    const pid_t engine = os::parent_of_this();
    os::reset_signals();
    os::close_other_descriptors(work::kControlFd, work::kLastInheritedFd);
    os::keep_from_programs(work::kControlFd, work::kLastInheritedFd);
    Result<work::SharedBlock> block = work::SharedBlock::attach(work::kBlockFd);
    if (!block)
        return 1;
    const work::RunState state = block->state();
    if (std::strcmp(expected_build, build_id()) != 0) {
        state.header().nursery.store(std::uint32_t(work::NurseryState::wrong_build));
        state.header().egress_event.notify();
        return 1;
    }
    work::NurseryParts parts;
    parts.live = [state](std::uint32_t worker, std::uint16_t incarnation) {
        work::live_as_worker(state, worker, incarnation, make_factory);
        os::leave(0);
    };
    work::run_nursery(state, engine, parts);
    return 0;
}

} // namespace

} // namespace gristmill

int main(int argc, char **argv) {
    if (argc != 3 || std::strcmp(argv[1], "--nursery") != 0)
        return 2;
    return gristmill::serve_as_nursery(argv[2]);
}
