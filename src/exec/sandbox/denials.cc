#include "exec/sandbox/denials.h"

#include <algorithm>
#include <csignal>

#include "base/files.h"
#include "base/json.h"
#include "base/text.h"

namespace sandbox {
namespace {

constexpr std::size_t kLogBytesMax = 2 * 1024 * 1024;  // The proxy writes at most half of it.
constexpr std::size_t kHostCharsMax = 253;
constexpr int kShellSignalBase = 128;

}  // namespace

std::vector<Denial> refused_destinations(const std::filesystem::path& network_log) {
    std::vector<Denial> list;
    if (network_log.empty()) return list;
    const auto text = base::read_file(network_log, kLogBytesMax);
    if (!text) return list;
    for (std::size_t begin = 0; begin < text->size();) {
        const std::size_t end = std::min(text->find('\n', begin), text->size());
        const auto line = base::parse_json(text->substr(begin, end - begin));
        begin = end + 1;
        const std::string outcome = line ? base::string_at(*line, "outcome") : "";
        if (outcome != "refused" && outcome != "private_address") continue;
        const std::string what = fmt::format(
            "{}:{}",
            base::printable(base::ellipsize(base::string_at(*line, "host"), kHostCharsMax)),
            base::int_at(*line, "port"));
        const auto known = std::ranges::find(list, what, &Denial::what);
        if (known != list.end())
            ++known->count;
        else if (list.size() + 1 < kDenialsMax)
            list.push_back({Rule::Network, what});
        else if (list.size() < kDenialsMax)
            list.push_back({Rule::Network, "further destinations"});
        else
            ++list.back().count;
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
