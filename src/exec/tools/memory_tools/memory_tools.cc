#include "exec/tools/memory_tools/memory_tools.h"

#include "agent/memory/documents.h"
#include "agent/memory/recall.h"
#include "base/os/lifetime.h"
#include "base/text.h"
#include "exec/results/external_content.h"

namespace memory_tools {
namespace {

using domain::ToolError;

constexpr std::string_view kSearchTool = "MemorySearch";
constexpr std::string_view kGetTool = "MemoryGet";
constexpr std::string_view kCopyTheHandle =
    "Copy a source_ref from a result of MemorySearch or from a shortened result. It is no path and "
    "no URL: read files with commands.";

struct SearchArgs {
    std::string query;
    std::optional<std::int64_t> limit{};
    bool include_all_workspaces{false};
};
BOOST_DESCRIBE_STRUCT(SearchArgs, (), (query, limit, include_all_workspaces))
constexpr auto describe_fields(const SearchArgs*) {
    return std::to_array<base::FieldDoc>(
        {{"query", "Words to find. All of them count; quotes and operators mean nothing.",
          R"("minLength":1)"},
         {"limit", "At most so many results; 10 by default, at most 50."},
         {.field = "include_all_workspaces",
          .text = "Search what belongs to other workspaces than the active one, too.",
          .keywords = R"("default":false)",
          .has_default = true}});
}

struct GetArgs {
    std::string source_ref;
    std::optional<std::int64_t> max_chars{};
};
BOOST_DESCRIBE_STRUCT(GetArgs, (), (source_ref, max_chars))
constexpr auto describe_fields(const GetArgs*) {
    return std::to_array<base::FieldDoc>(
        {{"source_ref", "Copied from a result of MemorySearch, or from a shortened result.",
          R"("minLength":1)"},
         {"max_chars", "At most so many characters; 12000 by default.",
          R"("minimum":1,"maximum":50000)"}});
}
struct GetResult {
    domain::MemoryDocument memory;
};
BOOST_DESCRIBE_STRUCT(GetResult, (), (memory))

struct Answer {
    std::string summary;
    json::object result;
};
using Answered = std::expected<Answer, ToolError>;

struct MemoryOutput final : results::Output {
    Answer answer;
    base::Result<results::Canonical> project(results::ArtifactSink&,
                                             const results::OutputPolicy&) const override {
        return results::Canonical{answer.summary, answer.result};
    }
};

// The record has the text as it is; the model reads it inside marks when untrusted input caused it.
void mark_external(json::value& shown, std::string_view field) {
    auto& object = shown.as_object();
    auto* metadata = object.if_contains("metadata");
    if (!metadata || !base::bool_at(*metadata, "external")) return;
    metadata->as_object().erase("blocked_by");
    const auto text = base::string_at(shown, "title") + "\n" + base::string_at(shown, field);
    const auto source = "memory: " + base::string_at(shown, "source_ref");
    object[field] = results::external_content(text, source, "untrusted input");
    object["title"] = base::string_at(shown, "kind");
}

std::string shown_document(const results::Envelope& envelope, json::value result) {
    return base::json_text(json::object{{"tool_name", envelope.tool_name()},
                                        {"status", "success"},
                                        {"summary_text", envelope.summary_text()},
                                        {"result", std::move(result)}});
}

std::string render_hits(const results::Envelope& envelope) {
    json::value result(envelope.result());
    for (auto& hit : result.at("results").as_array()) mark_external(hit, "snippet");
    return shown_document(envelope, std::move(result));
}

std::string render_memory(const results::Envelope& envelope) {
    json::value result(envelope.result());
    mark_external(result.at("memory"), "content");
    return shown_document(envelope, std::move(result));
}

ToolError failed(const base::Error& error) {
    return {.kind = "tool_execution_failed", .message = error.message, .retryable = true};
}

class MemoryTool : public tools::Tool {
public:
    MemoryTool(Parts parts, tools::ToolSpec spec) : parts_(parts), spec_(std::move(spec)) {}
    const tools::ToolSpec& spec() const final { return spec_; }

    std::shared_ptr<tools::Running> start(const domain::ToolCall& call,
                                          const tools::ExecutionContext& place,
                                          results::ArtifactSink&, tools::Done done) final {
        auto answered = std::make_shared<std::optional<Answered>>();
        parts_.loop.offload(
            [this, answered, args = call.args, whose = whose_memory(place)] {
                answered->emplace(answer(args, whose));
            },
            lifetime_.guard([answered, done = std::move(done)]() mutable {
                tools::Outcome outcome{.completed = nullptr};
                if (*answered && **answered) {
                    auto output = std::make_unique<MemoryOutput>();
                    output->answer = std::move(***answered);
                    outcome.completed = std::move(output);
                } else {
                    outcome.completed = std::unexpected((*answered)->error());
                }
                done(std::move(outcome));
            }));
        return nullptr;
    }

protected:
    // On a background thread.
    virtual Answered answer(const json::value& args, const memory::Remembering& whose) const = 0;

private:
    memory::Remembering whose_memory(const tools::ExecutionContext& place) const {
        return {.store = parts_.store,
                .agent = place.agent_id,
                .home = place.owner_home.empty() ? place.agent_home : place.owner_home,
                .workspace_id = place.workspace.workspace_id,
                .now = parts_.clock.now()};
    }

    const Parts parts_;
    const tools::ToolSpec spec_;
    base::Lifetime lifetime_;
};

tools::ToolSpec spec_of(std::string_view name, std::string_view description,
                        json::object input_schema, json::object output_schema,
                        results::Renderer render) {
    return {.name = std::string(name),
            .description = std::string(description),
            .family = tools::Family::CoreAgent,
            .risk = domain::RiskLevel::ReadOnly,
            .category = "memory",
            .repeatable = true,
            .input_schema = std::move(input_schema),
            .output_schema = std::move(output_schema),
            .render = render};
}

class MemorySearch final : public MemoryTool {
public:
    explicit MemorySearch(Parts parts)
        : MemoryTool(parts,
                     spec_of(kSearchTool,
                             "Search your memory: the notes in memory/self.md and "
                             "memory/operator.md, your work items, past episodes and briefs, and "
                             "your workspaces. Files of projects are not searched.",
                             base::schema_of<SearchArgs>(), base::schema_of<domain::MemoryHits>(),
                             render_hits)) {}

    std::optional<ToolError> check(const json::value& args) const override {
        if (!base::trim(base::string_at(args, "query")).empty()) return std::nullopt;
        return tools::invalid_input(kSearchTool, "query", "The query is blank.",
                                    "Send the words to find.");
    }

protected:
    Answered answer(const json::value& args, const memory::Remembering& whose) const override {
        const auto asked = base::from_json<SearchArgs>(args).value();
        const auto hits =
            memory::search(whose, {.query = std::string(base::trim(asked.query)),
                                   .limit = asked.limit.value_or(domain::MemoryQuery{}.limit),
                                   .include_all_workspaces = asked.include_all_workspaces});
        if (!hits) return std::unexpected(failed(hits.error()));
        return Answer{base::counted(std::ssize(hits->results), "result"),
                      base::to_json(*hits).as_object()};
    }
};

ToolError ref_error(std::string_view kind, const std::string& ref, std::string message) {
    json::array prefixes;
    for (const auto prefix : memory::kRefPrefixes) prefixes.emplace_back(prefix);
    json::object details{{"tool_name", kGetTool},
                         {"field", "source_ref"},
                         {"source_ref", base::ellipsize(base::to_utf8(ref), 256)},
                         {"allowed_source_ref_prefixes", std::move(prefixes)}};
    details[kind == kSourceNotFound ? "reason" : "validation_error"] = message;
    return {.kind = std::string(kind),
            .message = std::move(message),
            .details = std::move(details),
            .recovery_hint = std::string(kCopyTheHandle)};
}

class MemoryGet final : public MemoryTool {
public:
    explicit MemoryGet(Parts parts)
        : MemoryTool(parts, spec_of(kGetTool,
                                    "Read the whole text behind a result of MemorySearch, by the "
                                    "source_ref of that result, or a result of a call that was "
                                    "shortened, by the handle (tool_result:...) in its place.",
                                    base::schema_of<GetArgs>(), base::schema_of<GetResult>(),
                                    render_memory)) {}

    std::optional<ToolError> check(const json::value& args) const override {
        const auto ref = base::string_at(args, "source_ref");
        const auto fault = memory::ref_fault(ref);
        if (!fault) return std::nullopt;
        return ref_error("invalid_tool_input", ref,
                         fmt::format("source_ref is no handle of MemorySearch: {}.", *fault));
    }

protected:
    Answered answer(const json::value& args, const memory::Remembering& whose) const override {
        const auto asked = base::from_json<GetArgs>(args).value();
        const auto found = memory::recall(whose, asked.source_ref,
                                          asked.max_chars.value_or(domain::kMemoryCharsDefault));
        if (found) return Answer{found->title, {{"memory", base::to_json(*found)}}};
        if (found.error().code != base::ErrorCode::NotFound)
            return std::unexpected(failed(found.error()));
        return std::unexpected(ref_error(kSourceNotFound, asked.source_ref, found.error().message));
    }
};

}  // namespace

void add_all(tools::Registry& registry, Parts parts) {
    registry.add(std::make_unique<MemorySearch>(parts));
    registry.add(std::make_unique<MemoryGet>(parts));
}

}  // namespace memory_tools
