#include "exec/sandbox/denials.h"

#include <algorithm>
#include <csignal>

#include "exec/sandbox/network_log.h"

namespace sandbox {
namespace {

constexpr int kShellSignalBase = 128;

}  // namespace

std::vector<Denial> refused_destinations(const std::filesystem::path& network_log) {
    std::vector<Denial> list;
    for (const auto& entry : read_network_log(network_log)) {
        if (!entry.is_forbidden()) continue;
        // A destination refused by name and by address is one denial.
        const auto known = std::ranges::find(list, entry.destination, &Denial::what);
        if (known != list.end())
            known->count += entry.count;
        else if (list.size() + 1 < kDenialsMax)
            list.push_back({Rule::Network, entry.destination, entry.count});
        else if (list.size() < kDenialsMax)
            list.push_back({Rule::Network, "further destinations", entry.count});
        else
            list.back().count += entry.count;
    }
    return list;
}

std::vector<Denial> denials_of_end(std::optional<std::int64_t> exit_code,
                                   std::optional<std::int64_t> signal) {
    const std::int64_t ended_by = signal ? *signal : exit_code.value_or(0) - kShellSignalBase;
    switch (ended_by) {
        case SIGXCPU:
            return {{Rule::CpuLimit, "processor time beyond the limit"}};
        case SIGXFSZ:
            return {{Rule::FileSizeLimit, "a file larger than the limit"}};
        case SIGSYS:
            return {{Rule::SystemCall, "a forbidden system call"}};
        default:
            return {};
    }
}

std::vector<Denial> denials_of(const std::filesystem::path& network_log,
                               std::optional<std::int64_t> exit_code,
                               std::optional<std::int64_t> signal) {
    auto list = refused_destinations(network_log);
    std::ranges::move(denials_of_end(exit_code, signal), std::back_inserter(list));
    return list;
}

}  // namespace sandbox
