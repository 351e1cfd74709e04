#include "exec/sandbox/network_log.h"

#include <algorithm>
#include <map>

#include "base/json.h"
#include "base/os/files.h"
#include "base/text.h"

namespace sandbox {
namespace {

constexpr std::size_t kLogBytesMax = 2 * 1024 * 1024;  // The proxy writes at most half of it.
constexpr std::size_t kHostCharsMax = 253;

}  // namespace

std::vector<Reached> read_network_log(const std::filesystem::path& log) {
    std::vector<Reached> list;
    if (log.empty()) return list;
    const auto text = base::read_file(log, kLogBytesMax);
    if (!text) return list;
    std::map<std::pair<std::string, std::string>, std::size_t> places;
    std::string_view rest = *text;
    while (!rest.empty()) {
        const auto line = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(std::min(line.size() + 1, rest.size()));
        const auto entry = base::parse_json(line);
        if (!entry || !entry->is_object()) continue;
        Reached one{.destination = fmt::format("{}:{}",
                                               base::printable(base::ellipsize(
                                                   base::string_at(*entry, "host"), kHostCharsMax)),
                                               base::int_at(*entry, "port")),
                    .outcome = base::string_at(*entry, "outcome")};
        const auto [known, is_new] =
            places.try_emplace(std::pair(one.destination, one.outcome), list.size());
        if (is_new)
            list.push_back(std::move(one));
        else
            ++list[known->second].count;
    }
    return list;
}

}  // namespace sandbox
