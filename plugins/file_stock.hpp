// What was made of a file, kept for the next that wants it.
#ifndef GRISTMILL_PLUGINS_FILE_STOCK_HPP
#define GRISTMILL_PLUGINS_FILE_STOCK_HPP

#include <cstdint>
#include <ctime>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include <sys/stat.h>

namespace gristmill {

/// Things that take long to make of a file, and are as good as new after use. A plugin has a state for each worker
/// and run; a kept engine's next run finds here what the states of the last one gave back. Only things of the file
/// that was asked for last stay, as many as were in use at a time. Any thread.
template <class Thing> class FileStock {
    struct Version {
        std::string path;
        dev_t device = 0;
        ino_t inode = 0;
        off_t bytes = 0;
        std::int64_t changed_ns = 0;
        friend bool operator==(const Version &, const Version &) = default;
    };

  public:
    /// A thing, and what it was made of.
    class Loan {
      public:
        Loan(FileStock &stock, const std::string &path)
            : stock_(stock), version_(version_of(path)), thing_(stock.take(version_)) {
            if (!thing_)
                thing_ = std::make_unique<Thing>(path);
        }
        Loan(const Loan &) = delete;
        Loan &operator=(const Loan &) = delete;
        ~Loan() { stock_.give_back(version_, std::move(thing_)); }

        Thing &operator*() const noexcept { return *thing_; }
        Thing *operator->() const noexcept { return thing_.get(); }

      private:
        FileStock &stock_;
        const Version version_;
        std::unique_ptr<Thing> thing_;
    };

  private:
    // A file that was written this short a time ago may be written again within one tick of the clock that its time
    // of change is from, and look the same.
    static constexpr std::int64_t settled_ns = 100'000'000;

    /// As the file is now; without a path when there is none, or when it has only just changed.
    static Version version_of(const std::string &path) {
        struct stat facts {};
        if (::stat(path.c_str(), &facts) < 0)
            return {};
        const std::int64_t changed = ns(facts.st_mtim);
        timespec now{};
        ::clock_gettime(CLOCK_REALTIME, &now);
        if (ns(now) - changed < settled_ns)
            return {};
        return {path, facts.st_dev, facts.st_ino, facts.st_size, changed};
    }

    static std::int64_t ns(const timespec &time) noexcept {
        return time.tv_sec * std::int64_t{1'000'000'000} + time.tv_nsec;
    }

    std::unique_ptr<Thing> take(const Version &version) {
        const std::lock_guard lock(mutex_);
        if (version != version_) {
            idle_.clear();
            version_ = version;
        }
        if (idle_.empty())
            return nullptr;
        std::unique_ptr<Thing> found = std::move(idle_.back());
        idle_.pop_back();
        return found;
    }

    void give_back(const Version &version, std::unique_ptr<Thing> thing) noexcept {
        const std::lock_guard lock(mutex_);
        if (!thing || version.path.empty() || version != version_)
            return;
        try {
            idle_.push_back(std::move(thing));
        } catch (const std::bad_alloc &) { // then it is made anew
        }
    }

    std::mutex mutex_;
    Version version_; // of what is idle
    std::vector<std::unique_ptr<Thing>> idle_;
};

} // namespace gristmill

#endif
