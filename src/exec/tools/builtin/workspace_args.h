// What UseWorkspace takes and gives.
#pragma once

#include <optional>
#include <string>

#include "agent/workspace/choose.h"
#include "base/typed.h"
#include "exec/results/project.h"

namespace builtin {

struct UseWorkspaceArgs {
    std::optional<std::string> path{};
    std::optional<std::string> workspace_id{};
    std::optional<workspace::Mode> mode{};
    std::optional<std::string> cwd{};
    std::optional<std::string> isolation_label{};
};
BOOST_DESCRIBE_STRUCT(UseWorkspaceArgs, (), (path, workspace_id, mode, cwd, isolation_label))
constexpr auto describe_fields(const UseWorkspaceArgs*) {
    return std::to_array<base::FieldDoc>(
        {{"path", "A folder to work in, relative to your current cwd. Not with workspace_id."},
         {"workspace_id",
          "A workspace you have used before, or agent_home for your own folder. Not with path."},
         {"mode",
          "direct (default) works in the project itself; isolated in a copy of its own, on a "
          "branch of its own."},
         {"cwd", "Working directory inside the workspace, relative to its root."},
         {"isolation_label",
          "A short name for the isolated copy. The same name leads back to it later."}});
}

struct UseWorkspaceResult {
    std::string workspace_id;
    std::string workspace_anchor;
    std::string execution_root;
    std::string cwd;
    workspace::Mode mode{workspace::Mode::Direct};
    domain::ProjectionKind projection_kind{domain::ProjectionKind::CanonicalRoot};
};
BOOST_DESCRIBE_STRUCT(UseWorkspaceResult, (),
                      (workspace_id, workspace_anchor, execution_root, cwd, mode, projection_kind))

struct UseWorkspaceOutput final : results::Output {
    UseWorkspaceResult result;
    std::string summary;
    base::Result<results::Canonical> project(results::ArtifactSink&,
                                             const results::OutputPolicy&) const override {
        return results::Canonical{summary, base::to_json(result).as_object()};
    }
};

}  // namespace builtin
