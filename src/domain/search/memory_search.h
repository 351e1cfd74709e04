// What a search in an agent's memory takes and gives, for its tools and its operators.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/typed.h"
#include "domain/ids.h"

namespace domain {

struct MemoryQuery {
    std::string query;
    std::int64_t limit{10};  // 1 to 50.
    // Also what belongs to other workspaces than the one the agent works in.
    bool include_all_workspaces{false};
    friend bool operator==(const MemoryQuery&, const MemoryQuery&) = default;
};

enum class MemoryScope { Agent, Workspace };
BOOST_DESCRIBE_ENUM(MemoryScope, Agent, Workspace)

struct MemoryHit {
    std::string kind;        // agent_memory_markdown, workspace_profile, brief, context_episode,
                             // work_item
    std::string source_ref;  // Opaque; reads the whole text.
    MemoryScope scope_kind{MemoryScope::Agent};
    std::optional<std::string> workspace_id{};
    AgentId agent_id;
    std::optional<std::string> source_path{};
    std::string title;
    std::string snippet;  // The part that matches best.
    double score{0};      // Lower is better.
    Time updated_at{};
    json::object metadata{};  // Has `external: true` when untrusted input caused the text.
    friend bool operator==(const MemoryHit&, const MemoryHit&) = default;
};
BOOST_DESCRIBE_STRUCT(MemoryHit, (),
                      (kind, source_ref, scope_kind, workspace_id, agent_id, source_path, title,
                       snippet, score, updated_at, metadata))
constexpr auto describe_fields(const MemoryHit*) {
    return std::to_array<base::FieldDoc>({{.field = "workspace_id", .null_when_absent = true},
                                          {.field = "source_path", .null_when_absent = true}});
}

struct MemoryHits {
    std::string query;
    std::vector<MemoryHit> results{};
    // Files of the memory that could not be read.
    std::optional<std::vector<std::string>> warnings{};
    friend bool operator==(const MemoryHits&, const MemoryHits&) = default;
};
BOOST_DESCRIBE_STRUCT(MemoryHits, (), (query, results, warnings))

struct MemoryDocument {
    std::string kind;
    std::string source_ref;
    MemoryScope scope_kind{MemoryScope::Agent};
    std::optional<std::string> workspace_id{};
    AgentId agent_id;
    std::optional<std::string> source_path{};
    std::string title;
    std::string content;  // The exact text, up to the bound that was asked for.
    bool truncated{false};
    Time updated_at{};
    json::object metadata{};
    friend bool operator==(const MemoryDocument&, const MemoryDocument&) = default;
};
BOOST_DESCRIBE_STRUCT(MemoryDocument, (),
                      (kind, source_ref, scope_kind, workspace_id, agent_id, source_path, title,
                       content, truncated, updated_at, metadata))
constexpr auto describe_fields(const MemoryDocument*) {
    return std::to_array<base::FieldDoc>({{.field = "workspace_id", .null_when_absent = true},
                                          {.field = "source_path", .null_when_absent = true}});
}

inline constexpr std::int64_t kMemoryHitsMax = 50;
inline constexpr std::int64_t kMemoryCharsDefault = 12'000;
inline constexpr std::int64_t kMemoryCharsMax = 50'000;

}  // namespace domain
