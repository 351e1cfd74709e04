// The prompt a turn starts from: planned once, stored with the attempt, never rebuilt differently.
// What earlier turns said is not part of it: see conversation.h.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "agent/context/capability.h"
#include "agent/context/guidance.h"
#include "agent/context/plan.h"
#include "agent/context/work_section.h"
#include "base/typed.h"
#include "domain/agent.h"
#include "domain/memory.h"
#include "domain/message.h"
#include "domain/record.h"
#include "provider/provider.h"

namespace context {

// Guidance files are shown up to this many characters, the same for each.
inline constexpr std::size_t kGuidanceCharsMax = 16'000;
// The blocks of a turn get at least this part of the prompt's budget, whatever else is in it.
inline constexpr std::int64_t kTurnPercentMin = 10;
inline constexpr std::size_t kSkillsShown = 64;
inline constexpr std::size_t kSkillChars = 300;

using Frame = provider::PromptFrame;

// The tools that a turn is offered, and what prompts have to know of them. Copies are cheap.
struct Offer {
    provider::Tools tools{};
    std::int64_t tokens{0};  // An estimate.
    std::string digest{};    // Changes when what models are shown of them does.
};
// Reads every schema: for tools that do not change, do it once.
Offer offer_of(provider::Tools tools);

struct FrameInput {
    domain::Agent agent;
    domain::WorkspaceEntry workspace;
    domain::Message message;
    std::string agent_home{};
    std::vector<Guidance> guidance{};
    Offer offer{};  // The tools are part of the cached prompt.
    domain::WorkingMemory memory{};
    std::int64_t compression_epoch{0};
    std::optional<Capability> capability{};
    Work work{};
    std::vector<domain::Skill> skills{};
    std::vector<domain::ActiveSkill> active_skills{};
    std::string workspace_notice{};  // Changes of its workspace that the agent did not make.
    // How many estimated tokens the whole prompt may have; absent: no bound is known.
    std::optional<std::int64_t> prompt_budget{};
    std::int64_t conversation_tokens{0};  // Of that, what the conversation takes.
};

inline constexpr std::string_view kMemorySection = "working_memory";
inline constexpr std::string_view kMemoryDeltaSection = "working_memory_delta";

struct PlannedPrompt {
    Frame frame;
    std::vector<Decision> decisions{};  // About the blocks of the turn.
};

// Equal inputs give equal bytes. The system part does not depend on the message; its order is
// policy, mode of the turn, guidance of the user, the agent and the workspace, skills, tools.
// Breakpoints are where one stability ends and the next begins. The blocks that belong to the turn
// come last, in the request behind the conversation; where they do not all fit, plan() decides.
PlannedPrompt plan_prompt(const FrameInput& input);
Frame build_frame(const FrameInput& input);

// The block of a turn's input: the message with its labels, fenced where it is evidence.
std::string current_input(const domain::Message& message);

// Text of unknown origin as a label: letters, digits and a few marks; the others become '_'.
std::string safe_label(std::string_view text);

// The bracketed labels that go before a message's text: origin, surface, admission, trigger,
// authority, kind. Untrusted characters in ids become '_'.
std::string message_labels(const domain::Message& message);

// A name for the part of the prompt that caches may keep: it changes when the stable or
// agent-scoped blocks or the tools do.
std::string cache_key(const domain::AgentId& agent, const Frame& frame, const Offer& offer);

// A digest of the whole prompt a turn starts from, for diagnosis: it changes with every input and
// is never sent as a cache key.
std::string fingerprint(const Frame& frame);

}  // namespace context
