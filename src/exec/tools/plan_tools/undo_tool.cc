// plan.undo: undoes one change of an earlier plan run. A revert is a plan of such calls, so it is
// approved, recorded and undone like any other run.
#include "exec/tools/plan_tools/vault_tool.h"

namespace plan_tools {
namespace {

struct UndoResult {
    std::string path;
    bool restored{true};
    std::string message;
    std::vector<vault::UndoEntry> undo;
};
BOOST_DESCRIBE_STRUCT(UndoResult, (), (path, restored, message, undo))

std::string summary_of(const vault::UndoEntry& entry, const vault::Decision& decision) {
    using vault::Action;
    std::string path = vault::shown(entry.path);
    if (decision.steps.empty())
        return entry.action == Action::Create || entry.action == Action::Mkdir
                   ? path + " is gone already."
                   : vault::shown(decision.path) + " is back already.";
    switch (entry.action) {
        case Action::Create:
            return fmt::format("Removed {}.", path);
        case Action::Mkdir:
            return fmt::format("Removed the folder {}.", path);
        case Action::Modify:
            return fmt::format("Restored {}.", path);
        case Action::Rename:
            return fmt::format("Renamed {} back to {}.", path, vault::shown(decision.path));
        case Action::Delete:
        case Action::Rmdir:
            return fmt::format("Brought back {}.", path);
    }
    return path;
}

// What a call may restore from: the run that its own run takes back, else its own. What any other
// run kept may come from a vault that this run has nothing to do with.
const std::filesystem::path& kept_for(const tools::ExecutionContext& place) {
    return place.reverted.empty() ? place.agent_home : place.reverted;
}

}  // namespace

void add_undo(tools::Registry& registry, const Kit& kit) {
    registry.add(change_tool(
        kit,
        about<vault::UndoEntry, UndoResult>(
            std::string(kUndoTool), "plan",
            "Take one change of an earlier run back, if nothing has changed since."),
        {.decide =
             [](const vault::Root& root, const Request& request) {
                 return vault::decide_undo(root, request.as<vault::UndoEntry>(),
                                           kept_for(request.place));
             },
         .report =
             [](const Request& request, const vault::Done& done) {
                 const auto message = summary_of(request.as<vault::UndoEntry>(), done.decision);
                 return answer(message, UndoResult{.path = done.decision.path,
                                                   .message = message,
                                                   .undo = done.performed.undo});
             },
         .files = [](const Request& request) { return files_named(request, {"path", "from"}); }}));
}

}  // namespace plan_tools
