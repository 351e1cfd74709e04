#include "config/sections/sandbox.h"

#include <algorithm>

#include "base/text.h"
#include "config/sections/server.h"
#include "domain/agent.h"

namespace config {
namespace {

using base::ErrorCode;
using base::fail;
using base::Result;
using base::Status;

constexpr std::size_t kEntriesMax = 256;  // Of one list.

std::string shown(std::string_view text) {
    return base::printable(base::ellipsize(base::to_utf8(text), 200));
}

Status check_count(const std::vector<std::string>& list, const std::string& place) {
    if (list.size() > kEntriesMax)
        return fail(ErrorCode::InvalidInput, "{}: at most {} entries, got {}", place, kEntriesMax,
                    list.size());
    return {};
}

Status check_path(const std::string& text, const std::string& place) {
    const std::filesystem::path path(text);
    if (!path.is_absolute())
        return fail(
            ErrorCode::InvalidInput, "{}: must be an absolute path, got '{}'{}", place, shown(text),
            text.starts_with('~') ? "; write the home folder out, '~' is not known here" : "");
    if (std::ranges::find(path, "..") != path.end() || text.contains('\0'))
        return fail(ErrorCode::InvalidInput, "{}: must be a plain path without '..', got '{}'",
                    place, shown(text));
    return {};
}

Status check_paths(const std::optional<std::vector<std::string>>& list, const std::string& place) {
    if (!list) return {};
    TRY(check_count(*list, place));
    for (const auto& path : *list) TRY(check_path(path, place));
    return {};
}

// "example.com", "*.example.com", an address, each also with a port. No scheme, no path.
Status check_host(const std::string& text, const std::string& place) {
    std::string_view host = text;
    if (host.starts_with("*.")) host.remove_prefix(2);
    const bool is_pattern = host.size() != text.size();
    const auto parsed = parse_host_port(host);
    const bool good = parsed && parsed->host.size() <= 253 && !parsed->host.starts_with('.') &&
                      !parsed->host.ends_with('.') && !parsed->host.contains("..") &&
                      !(is_pattern && is_ip(parsed->host));
    if (good) return {};
    return fail(ErrorCode::InvalidInput,
                "{}: must be a host like example.com, *.example.com or example.com:8443, got '{}'",
                place, shown(text));
}

Status check_limits(const SandboxLimitsSection& limits, const std::string& place) {
    const std::pair<const char*, const std::optional<std::int64_t>&> all[] = {
        {"cpu_s", limits.cpu_s},           {"memory_bytes", limits.memory_bytes},
        {"processes", limits.processes},   {"file_bytes", limits.file_bytes},
        {"open_files", limits.open_files}, {"private_tmp_bytes", limits.private_tmp_bytes}};
    for (const auto& [name, value] : all)
        if (value && *value <= 0)
            return fail(ErrorCode::InvalidInput,
                        "{}/limits/{}: must be above 0, got {}; leave it out for the default",
                        place, name, *value);
    return {};
}

Status check_section(const SandboxSection& section, const std::string& place) {
    TRY(check_paths(section.writable_roots, place + "/writable_roots"));
    TRY(check_paths(section.readable_roots, place + "/readable_roots"));
    TRY(check_paths(section.hidden, place + "/hidden"));
    for (const auto& root : section.writable_roots.value_or(std::vector<std::string>{}))
        if (std::filesystem::path(root).lexically_normal() == "/")
            return fail(ErrorCode::InvalidInput,
                        "{}/writable_roots: the whole file system cannot be writable; name a "
                        "folder in it",
                        place);
    for (const auto& root : section.readable_roots.value_or(std::vector<std::string>{}))
        if (std::filesystem::path(root).lexically_normal() == "/")
            return fail(ErrorCode::InvalidInput,
                        "{}/readable_roots: the whole file system would show every secret; name a "
                        "folder in it",
                        place);
    if (section.allowed_hosts) {
        TRY(check_count(*section.allowed_hosts, place + "/allowed_hosts"));
        for (const auto& host : *section.allowed_hosts)
            TRY(check_host(host, place + "/allowed_hosts"));
    }
    return section.limits ? check_limits(*section.limits, place) : Status{};
}

template <class T>
void take(T& target, const std::optional<T>& set) {
    if (set) target = *set;
}

void take_all(domain::SandboxSettings& settings, const SandboxSection& section) {
    take(settings.backend, section.backend);
    take(settings.network, section.network);
    take(settings.allowed_hosts, section.allowed_hosts);
    take(settings.writable_roots, section.writable_roots);
    take(settings.hidden, section.hidden);
    if (!section.limits) return;
    take(settings.limits.cpu_s, section.limits->cpu_s);
    take(settings.limits.memory_bytes, section.limits->memory_bytes);
    take(settings.limits.processes, section.limits->processes);
    take(settings.limits.file_bytes, section.limits->file_bytes);
    take(settings.limits.open_files, section.limits->open_files);
    take(settings.limits.private_tmp_bytes, section.limits->private_tmp_bytes);
}

Sandbox applied(Sandbox sandbox, const std::optional<SandboxSection>& section,
                const std::optional<ExecutionSection>& execution) {
    if (section) {
        take_all(sandbox.settings, *section);
        take(sandbox.readable_roots, section->readable_roots);
    }
    if (!execution) return sandbox;
    take(sandbox.allow_processes, execution->allow_processes);
    take(sandbox.allow_background_tasks, execution->allow_background_tasks);
    take(sandbox.allow_worktrees, execution->allow_worktrees);
    if (execution->allow_new_workspaces)
        sandbox.allow_new_workspaces = execution->allow_new_workspaces;
    return sandbox;
}

Status check_roots(const Sandbox& sandbox, const std::filesystem::path& home) {
    const auto own = home.lexically_normal();
    for (const auto& root : sandbox.settings.writable_roots) {
        const auto path = std::filesystem::path(root).lexically_normal();
        const auto [end, ignored] = std::mismatch(own.begin(), own.end(), path.begin(), path.end());
        if (end == own.end())
            return fail(ErrorCode::InvalidInput,
                        "sandbox.writable_roots: {} lies in the runtime's own folder {}, which is "
                        "kept from commands",
                        shown(root), own.string());
    }
    return {};
}

}  // namespace

domain::Execution execution_of(const Sandbox& sandbox) {
    auto execution = domain::execution_of(sandbox.settings.backend, sandbox.settings.network);
    execution.process_execution_exposed = sandbox.allow_processes;
    execution.allow_background_tasks = sandbox.allow_processes && sandbox.allow_background_tasks;
    execution.supports_managed_worktrees = sandbox.allow_processes && sandbox.allow_worktrees;
    take(execution.allow_new_workspaces, sandbox.allow_new_workspaces);
    return execution;
}

Status check_sandbox(const ConfigFile& file) {
    if (file.sandbox) TRY(check_section(*file.sandbox, "/sandbox"));
    if (!file.agents) return {};
    for (const auto& [agent, section] : *file.agents) {
        const std::string place = base::typed::child_pointer("/agents", agent);
        if (!domain::is_agent_id(agent))
            return fail(ErrorCode::InvalidInput,
                        "{}: an agent is named with letters, digits, '.', '-' and '_' only", place);
        if (section.sandbox) TRY(check_section(*section.sandbox, place + "/sandbox"));
    }
    return {};
}

Result<Sandboxes> load_sandboxes(const ConfigFile& file, const std::filesystem::path& home) {
    Sandboxes all{.general = applied({}, file.sandbox, file.execution)};
    TRY(check_roots(all.general, home));
    if (!file.agents) return all;
    for (const auto& [agent, section] : *file.agents) {
        all.agents[agent] = applied(all.general, section.sandbox, section.execution);
        TRY(check_roots(all.agents[agent], home));
    }
    return all;
}

}  // namespace config
