#include "printing.hpp"

#include <algorithm>
#include <cstdio>

#include "words.hpp"

namespace gristmill::workshop {

namespace {

constexpr int name_width = 19;

// A JSON string. Bytes that are no ASCII become those of Latin-1, so that the result is always
// JSON.
std::string json(const std::string &text) {
    std::string result = "\"";
    for (const char byte : text) {
        const auto code = static_cast<unsigned char>(byte);
        if (byte == '"' || byte == '\\')
            result += {'\\', byte};
        else if (code < 0x20 || code >= 0x7f)
            result += words("\\u%04x", code);
        else
            result += byte;
    }
    return result + '"';
}

// Findings may quote what a plugin printed: no control character reaches the terminal.
std::string on_one_line(std::string text) {
    std::replace_if(
        text.begin(), text.end(), [](char byte) { return static_cast<unsigned char>(byte) < 0x20; },
        ' ');
    return text;
}

// What makes two findings the same. Faults share a topic; of them it is what happened, without the
// batch, numbers and plurals.
std::string kind_of(const Finding &finding) {
    if (finding.topic != "fault")
        return finding.topic;
    const std::size_t bytes = finding.text.find("(bytes ");
    const std::size_t batch = bytes == std::string::npos ? 0 : finding.text.find(')', bytes) + 1;
    std::string happened = finding.text.substr(batch);
    happened = happened.substr(0, std::min(happened.find(" ("), happened.find(" at address")));
    std::erase_if(happened, [](char byte) { return byte == 's' || (byte >= '0' && byte <= '9'); });
    return happened;
}

// The name of a step before the last that has the same finding; "" if none has.
std::string step_that_said(const Finding &finding, const std::vector<StepReport> &all) {
    const std::string kind = kind_of(finding);
    for (std::size_t i = 0; i + 1 < all.size(); ++i) {
        for (const Finding &other : all[i].findings) {
            if (other.verdict == finding.verdict && kind_of(other) == kind)
                return all[i].name;
        }
    }
    return "";
}

const char *outcome(const StepReport &report) {
    return !report.done ? "not tried" : report.violated() ? "violation" : "ok";
}

std::string texts(const StepReport &report, Verdict verdict) {
    std::string list;
    for (const Finding &finding : report.findings) {
        if (finding.verdict == verdict)
            list += (list.empty() ? "" : ", ") + json(finding.text);
    }
    return "[" + list + "]";
}

std::ptrdiff_t violated(const std::vector<StepReport> &reports) {
    return std::count_if(reports.begin(), reports.end(),
                         [](const StepReport &report) { return report.violated(); });
}

std::ptrdiff_t untried(const std::vector<StepReport> &reports) {
    return std::count_if(reports.begin(), reports.end(),
                         [](const StepReport &report) { return !report.done; });
}

} // namespace

void print_heading(const Subject &subject) {
    std::printf("%s, symbol %s, configuration %s, %s\n", subject.path.c_str(),
                subject.symbol.c_str(), quoted(subject.config).c_str(),
                subject.framing.described().c_str());
    std::fflush(stdout);
}

void print_step(const StepReport &report, const std::vector<StepReport> &all) {
    std::printf("  %-9s  %-*s%s\n", outcome(report), name_width, report.name.c_str(),
                on_one_line(report.tried).c_str());
    bool news = false;
    for (const Finding &finding : report.findings) {
        const std::string before = step_that_said(finding, all);
        if (before.empty()) {
            std::printf("             %s%s\n", finding.verdict == Verdict::note ? "note: " : "",
                        on_one_line(finding.text).c_str());
            news = news || finding.verdict == Verdict::violation;
        } else if (finding.verdict == Verdict::violation) {
            std::printf("             as in '%s'\n", before.c_str());
        }
    }
    if (news && !report.advice.empty())
        std::printf("             -> %s\n", report.advice.c_str());
    std::fflush(stdout);
}

void print_summary(const std::vector<StepReport> &reports, const Subject &subject) {
    const std::ptrdiff_t bad = violated(reports), skipped = untried(reports);
    std::string text = bad == 0       ? "keeps the plugin ABI"
                       : skipped == 0 ? "breaks the plugin ABI"
                                      : "breaks the plugin ABI, or was not given what it needs";
    text += ": " + counted(reports.size(), "step") +
            words(", %td ok", std::ptrdiff_t(reports.size()) - bad - skipped);
    if (bad != 0)
        text += words(", %td with violations", bad);
    if (skipped != 0)
        text += words(", %td not tried", skipped);
    std::printf("%s (seed %llu)\n", text.c_str(), static_cast<unsigned long long>(subject.seed));
}

void print_json(const std::vector<StepReport> &reports, const Subject &subject) {
    std::printf("{\"plugin\": %s, \"symbol\": %s, \"config\": %s, \"seed\": %llu, \"ok\": %s,\n "
                "\"steps\": [",
                json(subject.path).c_str(), json(subject.symbol).c_str(),
                json(subject.config).c_str(), static_cast<unsigned long long>(subject.seed),
                violated(reports) == 0 ? "true" : "false");
    const char *before = "\n";
    for (const StepReport &report : reports) {
        std::printf("%s  {\"name\": %s, \"outcome\": \"%s\", \"tried\": %s, \"seconds\": %.3f,\n"
                    "   \"violations\": %s,\n   \"notes\": %s,\n   \"advice\": %s}",
                    before, json(report.name).c_str(), outcome(report), json(report.tried).c_str(),
                    report.seconds, texts(report, Verdict::violation).c_str(),
                    texts(report, Verdict::note).c_str(), json(report.advice).c_str());
        before = ",\n";
    }
    std::printf("]}\n");
}

} // namespace gristmill::workshop
