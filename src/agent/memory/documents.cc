#include "agent/memory/documents.h"

#include <algorithm>
#include <filesystem>

#include "base/json.h"
#include "base/text.h"

namespace memory {
namespace {

// How much a match counts, in percent: what people chose to keep counts most, and what untrusted
// input caused least.
constexpr std::int64_t kNoteWeight = 150;
constexpr std::int64_t kWorkWeight = 130;
constexpr std::int64_t kEpisodeWeight = 110;
constexpr std::int64_t kBriefWeight = 100;
constexpr std::int64_t kProfileWeight = 80;
constexpr std::int64_t kExternalWeight = 60;

constexpr std::size_t kTitleChars = 120;
constexpr std::size_t kRefCharsMax = 256;

struct Provenance {
    std::string_view provenance_class;
    std::string_view trust_class;
    std::string_view governance_surface;
};

json::object metadata_of(const Provenance& provenance) {
    return {{"provenance_class", provenance.provenance_class},
            {"trust_class", provenance.trust_class},
            {"governance_surface", provenance.governance_surface}};
}

// Marks what untrusted input caused.
void label_external(fts::Document& document, json::object& metadata,
                    domain::AuthorityClass authority) {
    metadata["trust_class"] = "external_evidence";
    metadata["authority_class"] = base::enum_name(authority);
    metadata["external"] = true;
    document.weight = std::min(document.weight, kExternalWeight);
}

bool is_external(domain::AuthorityClass authority) {
    return authority == domain::AuthorityClass::IntegrationSignal ||
           authority == domain::AuthorityClass::ExternalEvidence;
}

template <class T>
json::value or_null(const std::optional<T>& value) {
    if (!value) return nullptr;
    if constexpr (requires { value->value; })
        return json::value(value->value);
    else
        return json::value(*value);
}

void keep_details(fts::Document& document, const domain::AgentId& agent,
                  const std::optional<std::string>& source_path, json::object metadata) {
    document.details = base::json_text(json::object{{"agent_id", agent.value},
                                                    {"source_path", or_null(source_path)},
                                                    {"metadata", std::move(metadata)}});
}

std::string title_of(std::string_view text) {
    return base::ellipsize(base::collapse_whitespace(base::to_utf8(text)), kTitleChars);
}

void add_lines(std::string& text, std::string_view name, const std::vector<std::string>& lines) {
    for (const auto& line : lines) text += fmt::format("\n{}: {}", name, line);
}

}  // namespace

fts::Document note_document(const domain::AgentId& agent, const std::string& name,
                            const std::string& path, std::string text, base::Time updated_at) {
    fts::Document document{.source_ref = "agent_memory:" + name,
                           .kind = std::string(kMarkdownKind),
                           .title = "Agent memory: " + name,
                           .body = std::move(text),
                           .updated_at = updated_at,
                           .weight = kNoteWeight};
    auto metadata =
        metadata_of({"agent_home_memory_markdown", "agent_curated", "curated_durable_memory"});
    metadata["memory_name"] = name;
    keep_details(document, agent, path, std::move(metadata));
    return document;
}

fts::Document profile_document(const domain::Agent& agent, const domain::WorkspaceEntry& entry) {
    const auto name = std::filesystem::path(entry.workspace_anchor).filename().string();
    fts::Document document{
        .source_ref = "workspace_profile:" + entry.workspace_id,
        .kind = std::string(kProfileKind),
        .scope = entry.workspace_id,
        .title = title_of(name),
        .body = fmt::format("{}\n{}\n{}", name, entry.workspace_id, entry.workspace_anchor),
        .updated_at = agent.identity.created_at,
        .weight = kProfileWeight};
    auto metadata =
        metadata_of({"workspace_registry", "runtime_projection", "workspace_profile_projection"});
    metadata["workspace_anchor"] = entry.workspace_anchor;
    keep_details(document, agent.agent_id, entry.workspace_anchor, std::move(metadata));
    return document;
}

fts::Document brief_document(const domain::Brief& brief, std::int64_t seq,
                             const std::optional<domain::Message>& cause) {
    std::string kind(base::enum_name(brief.kind));
    kind.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(kind.front())));
    fts::Document document{.source_ref = "brief:" + brief.id.value,
                           .kind = std::string(kBriefKind),
                           .scope = brief.workspace_id,
                           .title = "Brief " + kind,
                           .body = brief.text,
                           .updated_at = brief.created_at,
                           .sequence = seq,
                           .weight = kBriefWeight};
    auto metadata = metadata_of({"brief_record", "runtime_evidence", "runtime_evidence"});
    metadata["work_item_id"] = or_null(brief.work_item_id);
    metadata["related_message_id"] = or_null(brief.related_message_id);
    metadata["related_task_id"] = or_null(brief.related_task_id);
    if (brief.related_message_id) {
        const auto authority =
            cause ? domain::instructed_by(*cause) : domain::AuthorityClass::ExternalEvidence;
        if (is_external(authority)) label_external(document, metadata, authority);
    }
    keep_details(document, brief.agent_id, std::nullopt, std::move(metadata));
    return document;
}

fts::Document episode_document(const domain::ContextEpisode& episode, std::int64_t seq) {
    std::string text = episode.summary;
    if (episode.objective) text += "\nobjective: " + *episode.objective;
    add_lines(text, "file", episode.working_set_files);
    add_lines(text, "command", episode.commands);
    add_lines(text, "verification", episode.verification);
    add_lines(text, "decision", episode.decisions);
    add_lines(text, "carry forward", episode.carry_forward);
    add_lines(text, "waiting on", episode.waiting_on);
    fts::Document document{
        .source_ref = "episode:" + episode.id,
        .kind = std::string(kEpisodeKind),
        .scope = episode.workspace_id,
        .title = title_of(episode.objective.value_or(
            fmt::format("Turns {} to {}", episode.start_turn_index, episode.end_turn_index))),
        .body = std::move(text),
        .updated_at = episode.finalized_at,
        .sequence = seq,
        .weight = kEpisodeWeight};
    auto metadata = metadata_of({"context_episode_record", "runtime_evidence", "runtime_evidence"});
    metadata["episode_id"] = episode.id;
    metadata["current_work_item_id"] = or_null(episode.current_work_item_id);
    metadata["boundary_reason"] = base::enum_name(episode.boundary_reason);
    metadata["working_set_files"] = json::value_from(episode.working_set_files);
    keep_details(document, episode.agent_id, std::nullopt, std::move(metadata));
    return document;
}

fts::Document work_document(const domain::WorkItem& item) {
    std::string text =
        fmt::format("{}\nplan: {}", item.objective, base::enum_name(item.plan_status));
    for (const auto& todo : item.todo_list)
        text += fmt::format("\n[{}] {}", base::enum_name(todo.state), todo.text);
    if (item.result_summary) text += "\nresult: " + *item.result_summary;
    fts::Document document{.source_ref = "work_item:" + item.id.value,
                           .kind = std::string(kWorkItemKind),
                           .scope = item.workspace_id,
                           .title = title_of(item.objective),
                           .body = std::move(text),
                           .updated_at = item.updated_at,
                           .weight = kWorkWeight};
    auto metadata = metadata_of({"work_item_record", "runtime_evidence", "runtime_evidence"});
    metadata["work_item_id"] = item.id.value;
    metadata["state"] = base::enum_name(item.state);
    metadata["blocked_by"] = or_null(item.blocked_by);
    if (item.trust == domain::TrustLevel::TrustedIntegration)
        label_external(document, metadata, domain::AuthorityClass::IntegrationSignal);
    if (item.trust == domain::TrustLevel::UntrustedExternal)
        label_external(document, metadata, domain::AuthorityClass::ExternalEvidence);
    keep_details(document, item.agent_id, std::nullopt, std::move(metadata));
    return document;
}

fts::Document result_document(const domain::ToolExecution& execution) {
    const auto& call = execution.call;
    fts::Document document{.source_ref = std::string(kResultPrefix) + call.call_id.value,
                           .kind = std::string(kResultKind),
                           .title = title_of("Result of " + call.tool),
                           .body = execution.receipt.value_or("no result is known"),
                           .updated_at = call.created_at};
    auto metadata = metadata_of({"tool_execution_record", "runtime_evidence", "runtime_evidence"});
    metadata["tool_name"] = call.tool;
    metadata["turn_index"] = execution.turn_index;
    metadata["round"] = execution.round;
    if (is_external(call.authority_class)) label_external(document, metadata, call.authority_class);
    keep_details(document, call.agent_id, std::nullopt, std::move(metadata));
    return document;
}

namespace {

// What hits and whole documents have in common.
template <class T>
T described(const fts::Document& document) {
    const auto details = base::parse_json(document.details).value_or(json::object{});
    T out;
    out.kind = document.kind;
    out.source_ref = document.source_ref;
    out.scope_kind =
        document.scope.empty() ? domain::MemoryScope::Agent : domain::MemoryScope::Workspace;
    if (!document.scope.empty()) out.workspace_id = document.scope;
    out.agent_id = {base::string_at(details, "agent_id")};
    if (auto path = base::string_at(details, "source_path"); !path.empty())
        out.source_path = std::move(path);
    out.title = document.title;
    out.updated_at = document.updated_at;
    if (const auto* metadata = base::find(details, "metadata"); metadata && metadata->is_object())
        out.metadata = metadata->get_object();
    return out;
}

}  // namespace

domain::MemoryHit hit_of(const fts::Hit& hit) {
    auto out = described<domain::MemoryHit>(hit.document);
    out.snippet = hit.snippet;
    out.score = -hit.score;
    return out;
}

domain::MemoryDocument read_document(const fts::Document& document, std::int64_t chars_max) {
    auto out = described<domain::MemoryDocument>(document);
    const std::string text = base::to_utf8(document.body);
    out.content = std::string(
        base::first_chars(text, static_cast<std::size_t>(std::max<std::int64_t>(1, chars_max))));
    out.truncated = out.content.size() < text.size();
    return out;
}

std::optional<std::string> ref_fault(std::string_view ref) {
    if (ref.size() > kRefCharsMax) return "it is too long";
    const auto* prefix = std::ranges::find_if(
        kRefPrefixes, [&](std::string_view each) { return ref.starts_with(each); });
    if (prefix == std::end(kRefPrefixes)) return "it has an unknown prefix";
    const auto id = ref.substr(prefix->size());
    if (id.empty()) return "it has no id behind its prefix";
    // The profile of an agent's own folder is named agent_home:<agent>.
    const bool is_known = std::ranges::all_of(id, [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' ||
               c == '-' || c == ':';
    });
    if (!is_known) return "its id has a character that no handle has";
    return std::nullopt;
}

}  // namespace memory
