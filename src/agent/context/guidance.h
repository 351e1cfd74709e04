// Standing instructions: the guidance files of the user, the agent and its workspace.
//
// An agent or a stranger's repository may have written next to them, and their text is sent to the
// model: only regular files are read, up to a bound, and never through a link that leaves the
// folder of the file. These functions block on the file system; any thread.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/typed.h"
#include "domain/workspace.h"

namespace context {

inline constexpr std::size_t kGuidanceBytesMax = 256 * 1024;

enum class GuidanceScope { UserGlobal, Agent, Workspace };
BOOST_DESCRIBE_ENUM(GuidanceScope, UserGlobal, Agent, Workspace)
enum class GuidanceKind { AgentsMd, ClaudeMdFallback };
BOOST_DESCRIBE_ENUM(GuidanceKind, AgentsMd, ClaudeMdFallback)

struct GuidanceSource {
    GuidanceScope scope{GuidanceScope::Agent};
    GuidanceKind kind{GuidanceKind::AgentsMd};
    std::string path;
    friend bool operator==(const GuidanceSource&, const GuidanceSource&) = default;
};
BOOST_DESCRIBE_STRUCT(GuidanceSource, (), (scope, kind, path))

struct Guidance {
    GuidanceSource source;
    std::string text;
};

// Where guidance is searched for; an empty path is left out.
struct GuidanceRoots {
    std::filesystem::path user_home{};
    std::filesystem::path agent_home{};
    std::optional<domain::WorkspaceEntry> workspace{};  // The active one.
};

// The files as they are now: of the user, of the agent, of the workspace. CLAUDE.md of the
// workspace counts only where there is no AGENTS.md. A file that is missing, empty or may not be
// read is not in the list. The folder in which commands run plays no part, nor does a worktree: the
// anchor of the workspace has the file.
std::vector<Guidance> read_guidance(const GuidanceRoots& roots);
// The same files, without their text.
std::vector<GuidanceSource> guidance_sources(const GuidanceRoots& roots);

}  // namespace context
