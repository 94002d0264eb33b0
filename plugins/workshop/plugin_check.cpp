// Checks a gristmill plugin against the plugin ABI, without the engine: it knows plugin.h alone, so
// that neither can make the other's mistakes.
//
// Every step loads the plugin into a child process. What the plugin does there (crash, hang, exit,
// abort) is a finding with a name, and the next step starts with a fresh child.

#include <cstdio>
#include <optional>
#include <stdexcept>

#include "arguments.hpp"
#include "isolation.hpp"
#include "printing.hpp"
#include "records.hpp"
#include "steps.hpp"

namespace gristmill::workshop {

namespace {

constexpr int exit_broken = 2;
constexpr int timeouts_max = 2; // a plugin that hangs in one step hangs in most

std::vector<Step> all_steps() {
    std::vector<Step> steps = first_steps();
    for (const auto &more : {record_steps(), repeat_steps(), rare_steps(), last_steps()})
        steps.insert(steps.end(), more.begin(), more.end());
    return steps;
}

StepReport not_tried(const Step &step, const std::string &why) {
    StepReport report;
    report.name = step.name;
    report.tried = why;
    return report;
}

int check(const Arguments &arguments) {
    if (!arguments.json)
        print_heading(arguments.subject);
    std::vector<StepReport> reports;
    std::string obstacle; // why later steps are not tried
    int timeouts = 0;
    bool broken = false;
    for (const Step &step : all_steps()) {
        reports.push_back(obstacle.empty() ? run_isolated(step, arguments.subject)
                                           : not_tried(step, obstacle));
        const StepReport &report = reports.back();
        broken = broken || report.violated();
        timeouts += report.timed_out;
        if (obstacle.empty() && step.vital && report.violated())
            obstacle = "since '" + report.name + "' did not work";
        else if (obstacle.empty() && timeouts == timeouts_max)
            obstacle = "since two steps ran out of time";
        if (!arguments.json)
            print_step(report, reports);
    }
    (arguments.json ? print_json : print_summary)(reports, arguments.subject);
    return broken ? exit_broken : 0;
}

} // namespace

} // namespace gristmill::workshop

int main(int count, char **values) {
    using namespace gristmill::workshop;
    try {
        std::optional<Arguments> arguments = read_arguments(count, values);
        if (!arguments) {
            std::fputs(usage, stdout);
            return 0;
        }
        Subject &subject = arguments->subject;
        subject.sets.push_back(sample_records(subject.framing, subject.seed));
        if (!arguments->input.empty())
            subject.sets.push_back(records_of_file(arguments->input, subject.framing));
        return check(*arguments);
    } catch (const std::exception &error) {
        std::fprintf(stderr, "plugin_check: %s\n", error.what());
        return exit_broken;
    }
}
