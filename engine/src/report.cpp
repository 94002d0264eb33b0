#include <gristmill/report.hpp>

#include <cstdio>

namespace gristmill {

namespace {

// 1234567 -> "1,234,567"
std::string grouped(std::uint64_t number) {
    std::string text = std::to_string(number);
    for (std::size_t i = text.size(); i > 3; i -= 3)
        text.insert(i - 3, ",");
    return text;
}

template <class... Values>
std::string formatted(const char *format, Values... values) {
    char text[160];
    std::snprintf(text, sizeof text, format, values...);
    return text;
}

} // namespace

std::string Report::to_string() const {
    std::string text = "records   " + grouped(read) + " read = " + grouped(emitted) +
                       " emitted + " + grouped(filtered) + " filtered + " + grouped(failed) +
                       " failed\n";
    text += "output    " + grouped(output_records) + " records, " + grouped(output_bytes) +
            " bytes\n";
    text += "rate      " + grouped(std::uint64_t(records_per_second())) + " records/s, " +
            formatted("%.1f MB/s in, %.3f s wall, %.3f s CPU in workers\n",
                      input_bytes_per_second() / 1e6, wall_seconds, cpu_seconds);
    text += "batches   " + grouped(batches) + " of " + grouped(batch_bytes_min) + " to " +
            grouped(batch_bytes_max) + " bytes, median " + grouped(batch_bytes_median);
    if (overflow_batches > 0)
        text += ", " + grouped(overflow_batches) + " beyond the output ring";
    text += "\n";
    if (spool_slots > 0)
        text += "spool     " + grouped(spool_slots) + " slots, " + grouped(spool_bytes_max) +
                " bytes at most, " + grouped(spool_bytes_punched) + " given back meanwhile" +
                (spool_punches_failed > 0 ? "; the kernel refuses to take memory back\n" : "\n");
    if (worker_deaths > 0)
        text += "deaths    " + grouped(worker_deaths) + " workers died, " + grouped(retries) +
                " batches were worked on again\n";
    if (!placement.empty())
        text += "placement " + placement + "; where files lie in the page cache is not known\n";
    for (const NodeReport &node : nodes) {
        text += formatted("node %-4u ", node.node) + std::to_string(node.workers) +
                (node.workers == 1 ? " worker, " : " workers, ") + grouped(node.records) +
                " records in " + grouped(node.batches) + " batches, " +
                formatted("busy %.3f s, idle %.3f s", node.busy_seconds, node.idle_seconds);
        if (nodes.size() > 1 && node.batches_home + node.batches_head + node.batches_stolen > 0)
            text += ", " + grouped(node.batches_home) + " home, " + grouped(node.batches_stolen) +
                    " stolen, " + grouped(node.batches_head) + " as the oldest";
        if (node.audited_bytes > 0)
            text += ", " + formatted("%.1f", 100.0 * double(node.audited_local_bytes) /
                                                 double(node.audited_bytes)) +
                    "% of " + grouped(node.audited_bytes) + " bytes looked at on its memory node " +
                    std::to_string(node.memory_node);
        text += "\n";
    }
    return text;
}

} // namespace gristmill
