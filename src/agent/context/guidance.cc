#include "agent/context/guidance.h"

#include "base/os/fs/open_path.h"

namespace context {
namespace {

namespace fs = std::filesystem;

constexpr const char* kAgentsMd = "AGENTS.md";
constexpr const char* kClaudeMd = "CLAUDE.md";

// Calls `take(source, root, file)` for each place in order; of the two files of a workspace the
// second is tried only when `take` did not accept the first.
template <class Take>
void each_place(const GuidanceRoots& roots, Take take) {
    const auto at = [&](GuidanceScope scope, const fs::path& root, const char* file) {
        return take(GuidanceSource{.scope = scope,
                                   .kind = file == kClaudeMd ? GuidanceKind::ClaudeMdFallback
                                                             : GuidanceKind::AgentsMd,
                                   .path = (root / file).string()},
                    root, file);
    };
    if (!roots.user_home.empty())
        at(GuidanceScope::UserGlobal, roots.user_home / ".agents", kAgentsMd);
    if (!roots.agent_home.empty()) at(GuidanceScope::Agent, roots.agent_home, kAgentsMd);
    if (!roots.workspace || roots.workspace->workspace_anchor.empty()) return;
    const fs::path anchor(roots.workspace->workspace_anchor);
    std::error_code failed;
    // A folder that was replaced by a link is another one than the operator attached.
    if (base::real_path(anchor, failed) != anchor) return;
    // At home the agent's own file is the only one; it is not repeated as that of the workspace.
    if (anchor == base::real_path(roots.agent_home, failed)) return;
    if (!at(GuidanceScope::Workspace, anchor, kAgentsMd))
        at(GuidanceScope::Workspace, anchor, kClaudeMd);
}

}  // namespace

std::vector<Guidance> read_guidance(const GuidanceRoots& roots) {
    std::vector<Guidance> list;
    each_place(roots, [&](GuidanceSource source, const fs::path& root, const char* file) {
        auto text =
            base::read_file_beneath(root, file, kGuidanceBytesMax, base::Links::FollowBeneath);
        if (text && !text->empty()) list.push_back({std::move(source), std::move(*text)});
        return text.has_value();
    });
    return list;
}

std::vector<GuidanceSource> guidance_sources(const GuidanceRoots& roots) {
    std::vector<GuidanceSource> list;
    each_place(roots, [&](GuidanceSource source, const fs::path& root, const char* file) {
        const auto text = base::open_file_beneath(root, file, base::Links::FollowBeneath);
        if (text) list.push_back(std::move(source));
        return text.has_value();
    });
    return list;
}

}  // namespace context
