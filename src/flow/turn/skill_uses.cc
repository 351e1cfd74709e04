#include "flow/turn/skill_uses.h"

#include <algorithm>

#include "base/json.h"

namespace turn {
namespace {

bool has_exit_code_zero(const json::value& result) {
    const auto* status = base::find(result, "exit_status");
    return status && status->is_int64() && status->get_int64() == 0;
}

Succeeded command_of(const json::value& args, const std::filesystem::path& cwd) {
    const std::string workdir = base::string_at(args, "workdir");
    return {base::string_at(args, "cmd"), (cwd / workdir).lexically_normal()};
}

}  // namespace

std::vector<Succeeded> succeeded_commands(const domain::ToolCall& call,
                                          const domain::ToolResult& result,
                                          const tools::ToolSpec* spec,
                                          const std::filesystem::path& cwd) {
    std::vector<Succeeded> list;
    const auto add = [&](const json::value& args, const json::value& outcome) {
        auto command = command_of(args, cwd);
        if (has_exit_code_zero(outcome) && skills::may_use_skill(command.cmd))
            list.push_back(std::move(command));
    };
    if (!spec || !result.data) return list;
    if (spec->command_lines == tools::CommandLines::One) add(call.args, *result.data);
    if (spec->command_lines != tools::CommandLines::Batch) return list;
    const auto* asked = base::find(call.args, "items");
    const auto* done = base::find(*result.data, "items");
    if (!asked || !asked->is_array() || !done || !done->is_array()) return list;
    const auto& items = asked->get_array();
    for (const auto& entry : done->get_array()) {
        const auto index = static_cast<std::size_t>(base::int_at(entry, "index", 0));
        const auto* outcome = base::find(entry, "result");
        if (index >= 1 && index <= items.size() && outcome) add(items[index - 1], *outcome);
    }
    return list;
}

std::vector<skills::Use> find_uses(const std::vector<Succeeded>& commands,
                                   const skills::Places& places,
                                   const std::filesystem::path& user_home) {
    std::vector<skills::Use> uses;
    const auto catalogue = skills::discover(places);
    for (const auto& command : commands)
        for (auto& use : skills::uses_of(catalogue, command.cmd,
                                         {.cwd = command.workdir,
                                          .anchor = places.workspace_anchor,
                                          .user_home = user_home}))
            uses.push_back(std::move(use));
    return uses;
}

}  // namespace turn
