// What each source of an agent's memory looks like in its index. Pure.
#pragma once

#include <optional>
#include <string>

#include "domain/agent.h"
#include "domain/memory.h"
#include "domain/message.h"
#include "domain/record.h"
#include "domain/search/memory_search.h"
#include "domain/tool.h"
#include "domain/work.h"
#include "store/fts/index.h"

namespace memory {

// Kinds of documents, as the index and its hits name them.
inline constexpr std::string_view kMarkdownKind = "agent_memory_markdown";
inline constexpr std::string_view kProfileKind = "workspace_profile";
inline constexpr std::string_view kBriefKind = "brief";
inline constexpr std::string_view kEpisodeKind = "context_episode";
inline constexpr std::string_view kWorkItemKind = "work_item";
inline constexpr std::string_view kResultKind = "tool_result";  // Not searched; see recall().

// What handles of documents begin with.
inline constexpr std::string_view kRefPrefixes[] = {
    "agent_memory:", "workspace_profile:", "brief:", "episode:", "work_item:", "tool_result:"};
// Handles of results of calls are given by compactions, in place of the result.
inline constexpr std::string_view kResultPrefix = "tool_result:";

// One of the two files that the agent and its operator write: "self" or "operator".
fts::Document note_document(const domain::AgentId& agent, const std::string& name,
                            const std::string& path, std::string text, base::Time updated_at);
fts::Document profile_document(const domain::Agent& agent, const domain::WorkspaceEntry& entry);
// `cause` is the message whose turn wrote the brief. A brief that names one that is no longer kept
// counts as caused by untrusted input: nobody can say otherwise.
fts::Document brief_document(const domain::Brief& brief, std::int64_t seq,
                             const std::optional<domain::Message>& cause);
fts::Document episode_document(const domain::ContextEpisode& episode, std::int64_t seq);
fts::Document work_document(const domain::WorkItem& item);
// The result of a call as the model was given it.
fts::Document result_document(const domain::ToolExecution& execution);

domain::MemoryHit hit_of(const fts::Hit& hit);
// At most `chars_max` characters of the text.
domain::MemoryDocument read_document(const fts::Document& document, std::int64_t chars_max);

// Why `ref` cannot be a handle of a document, or nothing.
std::optional<std::string> ref_fault(std::string_view ref);

}  // namespace memory
