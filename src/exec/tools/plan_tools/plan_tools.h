// The tools that plans name, as ordinary tools of the one dispatcher. The vault is the execution
// root of the call's place.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/os/loop.h"
#include "exec/tools/builtin/commands/shell.h"
#include "exec/tools/registry.h"
#include "exec/tools/vault/steps.h"

namespace plan_tools {

// Where in a file; characters from its start, `to` not included.
struct Selection {
    std::size_t from{0};
    std::size_t to{0};
    // The text when it was selected. If the file differs by then, it is a CONFLICT.
    std::optional<std::string> text{};
    friend bool operator==(const Selection&, const Selection&) = default;
};

// What a person had open when the run was started. Nothing is invented: what is absent is
// PRECONDITION_FAILED for the tools that need it.
struct RunContext {
    std::optional<std::string> active_file{};  // Relative to the vault.
    std::optional<Selection> selection{};
    std::optional<std::size_t> cursor{};
    friend bool operator==(const RunContext&, const RunContext&) = default;
};

// {activeFilePath?, selection? {start, end, text?}, cursor?}; what does not fit is left out.
RunContext context_from(const json::object& context);

// The context a run was started with. A preview asks with an empty id, for the run to come.
using ContextOf = std::function<RunContext(const domain::RunId&, const tools::ExecutionContext&)>;

// A command that plans may run by its name. "{name}" in an argument is the value that a call gives,
// in one piece: no shell interprets it. An argument that must not be taken for an option belongs
// behind "--".
struct NamedCommand {
    std::string name;
    std::string description;
    std::vector<std::string> argv;
    std::optional<std::int64_t> timeout_ms{};
    friend bool operator==(const NamedCommand&, const NamedCommand&) = default;
};

struct Host {
    base::Loop& loop;
    builtin::Shell& shell;
    ContextOf context{};  // None: no run has one.
    std::vector<NamedCommand> commands{};
    // Off by default: vault.delete then is POLICY_DENIED. On, it moves to the vault's .trash.
    bool allow_delete{false};
};

// The vault of a preview, which starts as the vault is.
std::shared_ptr<tools::Pretence> make_pretence();

inline constexpr std::string_view kUndoTool = "plan.undo";

// Adds vault.*, editor.*, workspace.*, commands.*, util.*, plan.undo, shell.exec, which runs a
// command to its end, and shell.applyPatch, which is ApplyPatch under a name that plans use. What
// `host` refers to has to outlive the registry.
void add_all(tools::Registry& registry, const Host& host);

}  // namespace plan_tools
