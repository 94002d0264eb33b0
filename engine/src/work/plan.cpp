#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <utility>

#include <gristmill/topology.hpp>

#include "work/node_choice.hpp"
#include "work/node_distance.hpp"

namespace gristmill {

namespace {

using work::named;
using work::plural;

// CPUs in the order in which they get workers.
std::vector<Cpu> by_preference(const Topology &topology, bool smt, Plan &plan) {
    std::vector<Cpu> cpus = topology.cpus;
    if (cpus.size() < topology.cpus_of_machine)
        plan.reasons.push_back(plural(cpus.size(), "CPU") + " of the machine's " +
                               std::to_string(topology.cpus_of_machine) +
                               ": the others are not allowed (affinity mask, control group)");
    const auto sibling = [](const Cpu &cpu) { return cpu.smt_rank > 0; };
    const auto siblings = std::size_t(std::count_if(cpus.begin(), cpus.end(), sibling));
    if (!smt && siblings > 0) {
        std::erase_if(cpus, sibling);
        plan.reasons.push_back("smt=False leaves " + plural(siblings, "SMT sibling") + " unused");
    }
    std::stable_sort(cpus.begin(), cpus.end(), work::preferred);
    return cpus;
}

// Nodes of the machine that no worker can run on, and why.
void name_nodes_without_cpus(const Topology &topology, Plan &plan) {
    std::set<std::uint32_t> usable;
    for (const Cpu &cpu : topology.cpus)
        usable.insert(cpu.node);
    std::vector<std::uint32_t> none, forbidden;
    for (const NumaNode &node : topology.nodes)
        if (!usable.count(node.os_index))
            (node.has_cpus ? forbidden : none).push_back(node.os_index);
    if (!none.empty())
        plan.reasons.push_back("the machine's " + named(none) +
                               ": memory without CPUs; no workers, and nothing is placed there");
    if (!forbidden.empty())
        plan.reasons.push_back("the machine's " + named(forbidden) +
                               ": this process may use none of its CPUs");
}

std::size_t count_cpus(const work::NodeCpus &nodes) {
    std::set<std::uint32_t> cpus; // logical nodes may share them
    for (const std::vector<Cpu> &node : nodes)
        for (const Cpu &cpu : node)
            cpus.insert(cpu.os_index);
    return cpus.size();
}

std::uint32_t count_workers(const Topology &topology, std::optional<std::uint32_t> wanted,
                            std::size_t cpus, Plan &plan) {
    if (wanted) {
        plan.reasons.push_back(*wanted == 0 ? "no workers: the calling thread does the work"
                                            : plural(*wanted, "worker") + ", as asked for");
        if (*wanted > cpus)
            plan.reasons.push_back("more workers than the " + plural(cpus, "usable CPU") +
                                   ": they share them");
        return *wanted;
    }
    if (const double quota = std::ceil(topology.cpu_quota); quota > 0 && quota < double(cpus)) {
        const auto allowed = static_cast<std::uint32_t>(quota);
        plan.reasons.push_back(plural(allowed, "worker") +
                               ": the control group's CPU quota allows " + plural(allowed, "CPU") +
                               " of " + std::to_string(cpus));
        return std::min(allowed, kWorkersMax);
    }
    plan.reasons.push_back(plural(cpus, "worker") + ": one for each usable CPU");
    return static_cast<std::uint32_t>(std::min<std::size_t>(cpus, kWorkersMax));
}

// Deals workers out over the nodes in turn: round after round over all CPUs, each round over the
// preferred CPUs of all nodes first. No CPU gets a second worker before every CPU has one.
class Dealer {
  public:
    Dealer(const work::NodeCpus &cpus, Plan &plan) : cpus_(cpus), plan_(plan) {
        for (const std::vector<Cpu> &node : cpus)
            for (const Cpu &cpu : node)
                tiers_.insert({cpu.smt_rank, cpu.core_kind});
    }

    void deal(std::uint32_t workers) {
        for (std::uint32_t round = 0; plan_.workers.size() < workers; ++round)
            for (const Tier &tier : tiers_)
                deal_tier(workers, round, tier);
    }

  private:
    using Tier = std::pair<std::uint32_t, std::uint32_t>; // SMT rank, kind of core

    // To CPUs of one tier that have `round` workers, until there is none left.
    void deal_tier(std::uint32_t workers, std::uint32_t round, const Tier &tier) {
        const auto nodes = static_cast<std::uint32_t>(cpus_.size());
        std::uint32_t idle = 0; // nodes in a row that had no such CPU
        while (idle < nodes && plan_.workers.size() < workers) {
            const std::uint32_t node = turn_++ % nodes;
            const auto cpu =
                std::find_if(cpus_[node].begin(), cpus_[node].end(), [&](const Cpu &each) {
                    return Tier{each.smt_rank, each.core_kind} == tier &&
                           load_[each.os_index] == round;
                });
            if (cpu == cpus_[node].end()) {
                ++idle;
                continue;
            }
            idle = 0;
            ++load_[cpu->os_index];
            ++plan_.nodes[node].workers;
            plan_.workers.push_back({node, cpu->os_index});
        }
    }

    const work::NodeCpus &cpus_;
    Plan &plan_;
    std::set<Tier> tiers_{};
    std::map<std::uint32_t, std::uint32_t> load_{}; // workers of each CPU
    std::uint32_t turn_ = 0;                        // whose turn it is
};

// What kinds of CPUs got how many workers, where there is more than one kind.
void explain_order(const work::NodeCpus &cpus, Plan &plan) {
    std::map<std::uint32_t, Cpu> by_number;
    std::uint32_t kinds = 1;
    for (const std::vector<Cpu> &node : cpus)
        for (const Cpu &cpu : node) {
            by_number[cpu.os_index] = cpu;
            kinds = std::max(kinds, cpu.core_kind + 1);
        }
    std::size_t fast = 0, slow = 0, siblings = 0;
    for (const PlannedWorker &worker : plan.workers) {
        const Cpu &cpu = by_number[worker.cpu];
        ++(cpu.smt_rank > 0 ? siblings : cpu.core_kind > 0 ? slow : fast);
    }
    const bool smt = std::any_of(by_number.begin(), by_number.end(),
                                 [](const auto &cpu) { return cpu.second.smt_rank > 0; });
    if (plan.workers.empty() || (kinds == 1 && !smt))
        return;
    std::string text = kinds > 1 ? "the fastest cores first: " + plural(fast, "worker") +
                                       " there, " + std::to_string(slow) + " on slower cores"
                                 : "physical cores first: " + plural(fast, "worker") + " there";
    if (smt)
        text += ", " + std::to_string(siblings) + " on SMT siblings";
    plan.reasons.push_back(text);
}

void explain_idle_nodes(Plan &plan) {
    std::vector<std::uint32_t> idle;
    for (std::uint32_t i = 0; i < plan.nodes.size(); ++i)
        if (plan.nodes[i].workers == 0)
            idle.push_back(i);
    if (!idle.empty() && !plan.workers.empty())
        plan.reasons.push_back("no worker on " + named(idle) +
                               ": the workers of the other nodes do all the work");
}

} // namespace

Result<Plan> make_plan(const Topology &topology, const EngineOptions &options) {
    Plan plan;
    const std::vector<Cpu> cpus = by_preference(topology, options.smt, plan);
    if (cpus.empty())
        return Error{ErrorKind::system, "this process may use no CPU at all"};
    Result<work::NodeChoice> choice = work::choose_nodes(cpus, options.nodes);
    if (!choice)
        return choice.error();
    plan.reasons.push_back(choice->reason);
    name_nodes_without_cpus(topology, plan);
    for (const std::vector<Cpu> &own : choice->nodes) {
        PlannedNode node;
        node.os_node = own.front().node;
        for (const Cpu &cpu : own)
            node.cpus.push_back(cpu.os_index);
        plan.nodes.push_back(std::move(node));
    }
    const std::size_t usable = count_cpus(choice->nodes);
    Dealer(choice->nodes, plan).deal(count_workers(topology, options.workers, usable, plan));
    explain_order(choice->nodes, plan);
    explain_idle_nodes(plan);
    work::place_memory(topology, choice->nodes, plan);
    work::order_stealing(topology, choice->nodes, plan);
    return plan;
}

} // namespace gristmill
