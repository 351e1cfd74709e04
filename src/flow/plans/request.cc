#include "flow/plans/request.h"

#include <algorithm>

#include "exec/plan/language/params.h"
#include "exec/tools/policy/path_rules.h"

namespace plans {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMaxConcurrency = 4;
constexpr std::int64_t kMaxAttempts = 5;
constexpr std::int64_t kMaxBackoffMs = 60'000;
constexpr std::int64_t kStepTimeoutMs = 600'000;
constexpr std::int64_t kRunTimeoutMs = 86'400'000;
constexpr std::size_t kListedFilesMax = 10'000;

}  // namespace

std::vector<std::string> vault_names(const fs::path& vault, const domain::SandboxPolicy& sandbox,
                                     std::size_t names_max) {
    const tools::PathRules rules(sandbox, vault);
    std::vector<std::string> names;
    std::error_code failed;
    fs::recursive_directory_iterator entry(vault, fs::directory_options::skip_permission_denied,
                                           failed);
    for (; !failed && entry != fs::recursive_directory_iterator() && names.size() < names_max;
         entry.increment(failed)) {
        if (entry->path().filename().string().starts_with('.')) {
            entry.disable_recursion_pending();
            continue;
        }
        std::error_code ignored;
        std::string name = entry->path().lexically_relative(vault).string();
        if (entry->is_regular_file(ignored) && (!sandbox.enabled || rules.allows(name)))
            names.push_back(std::move(name));
    }
    std::ranges::sort(names);
    return names;
}

domain::PolicySnapshot default_policy(const fs::path& vault, const config::PlanPolicy& set) {
    domain::PolicySnapshot policy{.confirmations_required = true};
    policy.sandbox = {.enabled = true, .allowed_roots = {vault.string()}, .deny_patterns = {"://"}};
    policy.limits = {.max_concurrency = kMaxConcurrency,
                     .max_attempts = kMaxAttempts,
                     .max_backoff_ms = kMaxBackoffMs,
                     .step_timeout_ms = kStepTimeoutMs,
                     .run_timeout_ms = kRunTimeoutMs,
                     .max_foreach_items = 10'000,
                     .max_calls = 200'000};
    return config::with(set, std::move(policy));
}

json::object bind_context(const plan::Plan& plan, const json::object& given, const fs::path& vault,
                          const config::Plans& settings, const domain::SandboxPolicy& sandbox,
                          std::vector<domain::PlanFault>& faults) {
    json::object bound;
    for (std::size_t i = 0; i < plan.context_requests.size(); ++i) {
        const auto kind = plan.context_requests[i].kind;
        const std::string name(plan::kContextKinds[static_cast<std::size_t>(kind)]);
        if (const auto* value = given.if_contains(name)) {
            bound[name] = *value;
            continue;
        }
        switch (kind) {
            case plan::ContextKind::VaultFileList:
                bound[name] = base::to_json(vault_names(vault, sandbox, kListedFilesMax));
                break;
            case plan::ContextKind::WorkspaceContext: {
                json::object context{{"root", vault.string()}};
                if (const auto* active = given.if_contains("activeFilePath"))
                    context["activeFilePath"] = *active;
                bound[name] = std::move(context);
                break;
            }
            case plan::ContextKind::CommandList: {
                auto& list = bound[name].emplace_array();
                for (const auto& [command, about] : settings.commands)
                    list.push_back(json::object{{"name", command},
                                                {"description", about.description.value_or("")}});
                break;
            }
            case plan::ContextKind::ActiveFilePath:
            case plan::ContextKind::Selection:
            case plan::ContextKind::Cursor:
                faults.push_back(
                    {fmt::format("/contextRequests/{}", i),
                     fmt::format("PRECONDITION_FAILED: there is no {} here", name),
                     "Give it with the run, for instance --active-file or --selection."});
        }
    }
    // What the plan did not ask for is still there for the editor's tools.
    for (const auto& member : given) bound.emplace(member.key(), member.value());
    return bound;
}

json::object check_params(const plan::Checked& plan, const tools::Registry& registry,
                          const json::object& given, std::vector<domain::PlanFault>& faults) {
    json::object out = given;
    for (const auto& [name, type] : plan::param_types(plan, registry)) {
        const auto* value = given.if_contains(name);
        if (!value) continue;
        if (auto fits = plan::fitted(*value, type))
            out[name] = std::move(*fits);
        else
            faults.push_back(
                {"",
                 fmt::format("PRECONDITION_FAILED: parameter '{}' must be of type {}", name, type),
                 fmt::format("Give it as JSON: --param '{}=…'", name)});
    }
    for (const auto& name : plan.params)
        if (!given.contains(name))
            faults.push_back({"",
                              fmt::format("PRECONDITION_FAILED: parameter '{}' has no value", name),
                              fmt::format("Give it with --param {}=…", name)});
    for (const auto& member : given)
        if (std::ranges::find(plan.params, std::string_view(member.key())) == plan.params.end())
            faults.push_back(
                {"", fmt::format("the plan has no parameter '{}'", std::string_view(member.key())),
                 plan.params.empty() ? "It has none."
                                     : fmt::format("It has {}.", fmt::join(plan.params, ", "))});
    return out;
}

std::vector<domain::PlanFault> shown(const std::vector<plan::Fault>& faults) {
    std::vector<domain::PlanFault> list;
    for (const auto& fault : faults) list.push_back({fault.path, fault.message, fault.hint});
    return list;
}

}  // namespace plans
