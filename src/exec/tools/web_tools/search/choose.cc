#include "exec/tools/web_tools/search/choose.h"

#include <algorithm>

#include "base/text.h"

namespace web_tools {
namespace {

std::optional<config::WebProvider> named(const config::WebSearch& settings, std::string_view name) {
    const auto found = std::ranges::find(settings.providers, name, &config::WebProvider::name);
    if (found != settings.providers.end()) return *found;
    if (name == kBuiltinSearch) return config::WebProvider{.name = std::string(kBuiltinSearch)};
    return std::nullopt;
}

// Those that can be asked, by the priority of their kinds; the built-in one at the end.
std::vector<config::WebProvider> by_priority(const config::WebSearch& settings) {
    auto list = settings.providers;
    std::erase_if(list, [](const auto& provider) { return unusable(provider).has_value(); });
    if (std::ranges::find(list, config::WebSearchKind::DuckDuckGo, &config::WebProvider::kind) ==
        list.end())
        list.push_back({.name = std::string(kBuiltinSearch)});
    std::ranges::sort(list, {}, [](const config::WebProvider& provider) {
        return std::pair(-facts_of(provider.kind).priority, provider.name);
    });
    return list;
}

}  // namespace

std::expected<std::vector<config::WebProvider>, SearchFault> chosen_providers(
    const config::WebSearch& settings, const std::string& asked) {
    std::vector<config::WebProvider> list;
    const auto add = [&](const std::string& name) -> std::optional<SearchFault> {
        auto found = named(settings, name);
        if (!found)
            return SearchFault{"invalid_tool_input",
                               fmt::format("there is no search provider '{}'",
                                           base::printable(base::ellipsize(name, 60)))};
        list.push_back(std::move(*found));
        return std::nullopt;
    };
    if (!asked.empty() && asked != "auto") {
        if (auto fault = add(asked)) return std::unexpected(std::move(*fault));
        return list;
    }
    if (settings.provider != "auto") {
        if (auto fault = add(settings.provider)) return std::unexpected(std::move(*fault));
        if (settings.mode == config::WebSearchMode::Single) return list;
    }
    for (const auto& name : settings.order)
        if (name != settings.provider)
            if (auto fault = add(name)) return std::unexpected(std::move(*fault));
    if (settings.order.empty())
        for (auto& provider : by_priority(settings))
            if (provider.name != settings.provider) list.push_back(std::move(provider));
    const auto attempts = settings.mode == config::WebSearchMode::Single
                              ? std::int64_t{1}
                              : settings.max_provider_attempts;
    if (std::ssize(list) > attempts) list.resize(static_cast<std::size_t>(attempts));
    return list;
}

}  // namespace web_tools
