// Writing the records of one set, whole or spoilt, from any source of randomness.
#ifndef GRISTMILL_DATAGEN_RECORD_WRITER_HPP
#define GRISTMILL_DATAGEN_RECORD_WRITER_HPP

#include <cstdint>
#include <string>

#include "generate.hpp"
#include "malformed.hpp"
#include "print.hpp"
#include "record_buffer.hpp"

namespace gristmill::datagen {

template <class Drawer>
class RecordWriter {
  public:
    explicit RecordWriter(const GenerateSpec &spec)
        : drawer_(spec), malformed_pct_(spec.malformed_pct) {}

    /// Appends record `index` and '\n'. Returns whether the set's payload has a result for it.
    template <Randomness Random>
    bool append(RecordBuffer &to, Random &random, std::uint64_t index) {
        char *const begin = to.room(Drawer::bytes_max);
        char *end = begin;
        bool passes = true;
        // Drawn in any case, so that a share of 0 changes no other draw.
        if (random.real() * 100 < malformed_pct_) {
            passes = draw_spoilt(random, index, begin, end);
        } else {
            end = drawer_.draw(random, index, begin);
            passes = drawer_.passes();
        }
        *end++ = '\n';
        to.end_at(end);
        return passes;
    }

  private:
    template <Randomness Random>
    bool draw_spoilt(Random &random, std::uint64_t index, char *begin, char *&end) {
        const Malformed kind = draw_malformed(random);
        std::string record(begin, drawer_.draw(random, index, begin));
        const std::size_t missing = spoil(random, kind, record);
        end = print(begin, std::string_view(record));
        return drawer_.passes() && bears(kind, missing);
    }

    /// Whether the payload still has a result.
    static bool bears(Malformed kind, std::size_t missing) noexcept {
        switch (kind) {
        case Malformed::missing_field:
            return (Drawer::needed_fields >> missing & 1) == 0;
        case Malformed::wrong_type:
            return !Drawer::needs_timestamp;
        default:
            return false;
        }
    }

    Drawer drawer_;
    double malformed_pct_;
};

} // namespace gristmill::datagen

#endif
