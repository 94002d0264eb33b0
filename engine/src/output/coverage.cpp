#include "output/coverage.hpp"

#include <iterator>

namespace gristmill::output {

bool Coverage::add(std::uint32_t source, std::uint64_t begin, std::uint64_t end) {
    if (begin == end)
        return true;
    if (source >= sources_.size())
        sources_.resize(source + 1);
    Source &covered = sources_[source];
    if (begin < covered.prefix || end < begin)
        return false;
    const auto next = covered.beyond.lower_bound(begin);
    if (next != covered.beyond.end() && next->first < end)
        return false;
    if (next != covered.beyond.begin() && std::prev(next)->second > begin)
        return false;
    covered.beyond.emplace(begin, end);
    for (auto first = covered.beyond.begin();
         first != covered.beyond.end() && first->first == covered.prefix;
         first = covered.beyond.erase(first))
        covered.prefix = first->second;
    return true;
}

bool Coverage::complete(std::uint32_t source, std::uint64_t bytes) const {
    return covered(source) == bytes &&
           (source >= sources_.size() || sources_[source].beyond.empty());
}

std::uint64_t Coverage::covered(std::uint32_t source) const {
    return source < sources_.size() ? sources_[source].prefix : 0;
}

} // namespace gristmill::output
