// Opens the next turn of an agent: claims its message, resolves the continuation and writes the
// attempt with its prompt frame, in the caller's transaction.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "agent/context/conversation.h"
#include "agent/context/frame.h"
#include "agent/context/past/recent.h"
#include "agent/context/work_section.h"
#include "flow/scheduler/decide.h"
#include "flow/scheduler/triggers.h"
#include "flow/turn/decide/decide.h"
#include "record/events/events.h"

namespace scheduler {

struct Opened {
    turn::Facts facts;
    context::Frame frame;
    context::Conversation conversation;  // That the turn continues.
    std::vector<turn::Effect> effects;
};
// The message was recorded and answered without the model; there may be another.
struct Reduced {
    domain::MessageId message_id;
};
// A hint that was waiting, or work that can continue, is now a message in the queue.
struct Ticked {};
using Outcome = std::variant<Opened, Reduced, Ticked, Idle>;

// How many times the prompt's budget is loaded of a conversation that was never compacted, as one
// of an older version may be: what is loaded enters the digest, what is older does not.
inline constexpr std::int64_t kPastBudgets = 4;

// A message that no turn can be opened for is set aside after so many tries.
inline constexpr std::int64_t kOpenFailuresMax = 3;

// What the prompt of a message is planned from, all of one snapshot.
struct PromptFacts {
    domain::Message message;
    std::optional<domain::ExternalTriggerId> capability{};
    bool makes_capability{false};  // It is made, under that id, when the turn opens.
    std::int64_t work_version{0};  // See store::WorkRecords.
    context::Past past;            // What was said so far.
    context::Work work;
    domain::WorkingMemory memory;
    base::Time loading_began{};
};

// A prompt that was planned before the transaction, and what it holds for.
struct PlannedFrame {
    PromptFacts facts;
    domain::WorkspaceEntry workspace;  // Where the agent was when the facts were loaded.
    std::optional<domain::WorkItemId> work_item{};  // Its focus.
    context::Conversation conversation;             // That the turn continues.
    context::PlannedPrompt prompt;
    std::int64_t build_ms{0};
};

struct OpenInput {
    RoundBudget budget{};
    std::string model_ref;
    std::vector<context::Guidance> guidance{};
    std::vector<domain::Skill> skills{};    // Those that the agent can discover.
    std::string session{};                  // See turn::Parts.
    context::Offer offer{};                 // The tools that the agent is offered.
    domain::Execution execution{};          // What holds for its commands now.
    domain::WorkspaceEntry home_workspace;  // Used until a project is chosen.
    // Where it worked last, if that folder is not there any more.
    std::optional<domain::WorkspaceEntry> vanished{};
    std::optional<turn::ContextLimits> limits{};  // Of the turn's model.
    std::filesystem::path home{};                 // Of the agent, for the plans of its work items.
    bool is_booted{false};                        // What a booting agent needs has been made.
    std::function<base::Time()> now;  // To say how long planning the prompt took; any thread.
    // The prompt of the next message; none: nothing was queued. Planning one may take long and must
    // not hold up the writer: when something has changed since, no turn is opened, and all of this
    // is prepared again.
    std::shared_ptr<const PlannedFrame> planned{};
    // Where the conversation is found that an earlier turn has loaded; none: it is loaded whole.
    std::shared_ptr<context::RecentPasts> recent{};
    // The digest of the token of a capability, by its id; see context/capability.h.
    TokenHash token_hash_of{};
    // The id of a capability that an agent is to have; any thread. Set where token_hash_of is.
    std::function<domain::ExternalTriggerId()> fresh_capability{};
};

// Loads what the prompt of `message` is planned from: of the conversation, as much as may be
// needed, and the stored plan of the focus (see context::read_plan).
base::Result<PromptFacts> load_prompt_facts(store::Tx& tx, const domain::Agent& agent,
                                            const domain::Message& message, const OpenInput& input);

// The prompt that the message would be answered with, were it the next. Pure.
context::PlannedPrompt plan_prompt(const domain::Agent& agent, const PromptFacts& facts,
                                   const OpenInput& input, const context::Conversation& said,
                                   std::string workspace_notice = {});

// The prompt of the agent's next message; keeps its conversation in `input.recent`. Reads the plan
// of its work item from a file.
std::shared_ptr<const PlannedFrame> plan_ahead(domain::Agent agent, PromptFacts facts,
                                               const OpenInput& input);

// Opening the next turn failed with `error`, by a fault of the message: counts it, and sets the
// message aside, with a brief, when it has failed kOpenFailuresMax times. False when no message
// waits that could be at fault; then nothing is recorded.
base::Result<bool> note_failure(events::Log& log, const domain::AgentId& agent,
                                const base::Error& error);

base::Result<Outcome> open_next(events::Log& log, const domain::AgentId& agent,
                                const OpenInput& input);

}  // namespace scheduler
