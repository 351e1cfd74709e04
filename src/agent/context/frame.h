// The prompt a turn starts from: planned once, stored with the attempt, never rebuilt differently.
#pragma once

#include <string>
#include <vector>

#include "agent/context/capability.h"
#include "agent/context/guidance.h"
#include "agent/context/work_section.h"
#include "base/typed.h"
#include "domain/agent.h"
#include "domain/message.h"
#include "domain/record.h"
#include "provider/provider.h"

namespace context {

// Guidance files are shown up to this many characters, the same for each.
inline constexpr std::size_t kGuidanceCharsMax = 16'000;
inline constexpr std::size_t kRecentMessages = 12;
inline constexpr std::size_t kRecentBriefs = 8;
inline constexpr std::size_t kPreviewChars = 160;
inline constexpr std::size_t kResultChars = 4'000;
inline constexpr std::size_t kSkillsShown = 64;
inline constexpr std::size_t kSkillChars = 300;

using Frame = provider::PromptFrame;

struct FrameInput {
    domain::Agent agent;
    domain::WorkspaceEntry workspace;
    domain::Message message;
    std::string agent_home{};
    std::vector<domain::Message> recent_messages{};  // Oldest first, without `message`.
    std::vector<domain::Brief> recent_briefs{};      // Oldest first.
    std::vector<Guidance> guidance{};
    std::vector<provider::ToolDeclaration> tools{};  // They are part of the cached prompt.
    std::int64_t working_memory_revision{0};
    std::int64_t compression_epoch{0};
    std::optional<Capability> capability{};
    Work work{};
    std::vector<domain::Skill> skills{};
    std::vector<domain::ActiveSkill> active_skills{};
    std::string workspace_notice{};  // Changes of its workspace that the agent did not make.
};

// Equal inputs give equal bytes. The system part does not depend on the message; its order is
// policy, mode of the turn, guidance of the user, the agent and the workspace, skills, tools.
// Breakpoints are where one stability ends and the next begins.
Frame build_frame(const FrameInput& input);

// The bracketed labels that go before a message's text: origin, surface, admission, trigger,
// authority, kind. Untrusted characters in ids become '_'.
std::string message_labels(const domain::Message& message);

// A name for the part of the prompt that caches may keep: it changes when the stable or
// agent-scoped blocks or the tools do.
std::string cache_key(const domain::AgentId& agent, const Frame& frame,
                      const std::vector<provider::ToolDeclaration>& tools);

// A digest of the whole prompt a turn starts from, for diagnosis: it changes with every input and
// is never sent as a cache key.
std::string fingerprint(const Frame& frame);

}  // namespace context
