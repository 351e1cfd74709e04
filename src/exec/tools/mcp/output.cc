#include "exec/tools/mcp/output.h"

#include <algorithm>
#include <filesystem>

#include "base/hash.h"
#include "base/plain_text.h"
#include "base/scan/engine/encodings.h"
#include "base/text.h"
#include "exec/results/images.h"
#include "exec/results/preview.h"
#include "exec/tools/mcp/wire/line_codec.h"

namespace mcp {
namespace {

constexpr std::int64_t kCharsPerToken = 4;
constexpr std::size_t kWordCharsMax = 200;  // Of a type, a MIME type, a URI.
constexpr std::size_t kErrorCharsMax = 300;
constexpr std::size_t kResourceCharsMax = 500;  // Of each thing that is said about a resource.

std::optional<std::string> word_at(const json::value& value, std::string_view name) {
    const std::string word = base::plain_text(base::string_at(value, name), kWordCharsMax);
    return word.empty() ? std::nullopt : std::optional(word);
}

// The text of a piece: its own, that of the resource in it, or none.
const json::value* text_of(const json::value& piece) {
    const auto* resource = base::find(piece, "resource");
    const auto* text = base::find(resource ? *resource : piece, "text");
    return text && text->is_string() ? text : nullptr;
}

const json::value* payload_of(const json::value& piece) {
    const auto* resource = base::find(piece, "resource");
    const auto* data = resource ? base::find(*resource, "blob") : base::find(piece, "data");
    return data && data->is_string() ? data : nullptr;
}

std::string joined_text(const json::array& content) {
    std::string all;
    for (const auto& piece : content) {
        const auto* text = text_of(piece);
        if (!text) continue;
        if (!all.empty() && !all.ends_with('\n')) all += '\n';
        all += std::string_view(text->get_string());
    }
    return all;
}

class CallOutput final : public results::Output {
public:
    CallOutput(std::string server, std::string tool, json::object result)
        : server_(std::move(server)), tool_(std::move(tool)), result_(std::move(result)) {}

    base::Result<results::Canonical> project(results::ArtifactSink& sink,
                                             const results::OutputPolicy& policy) const override {
        CallResult out{.server = server_, .tool = base::plain_text(tool_, kWordCharsMax)};
        const auto chars = static_cast<std::size_t>(policy.output_tokens_default * kCharsPerToken);
        const json::array content = this->content();
        TRY(add_text(out, joined_text(content), chars, sink));
        std::vector<domain::Media> media;
        for (const auto& piece : content) TRY(add_piece(out, piece, media, sink));
        TRY(add_structured(out, chars, sink));
        const auto chars_shown = base::char_count(out.text_preview);
        const std::string summary =
            fmt::format("{} of {} answered: {}, {} of text", out.tool, server_,
                        base::counted(std::ssize(out.content), "piece"),
                        base::counted(static_cast<std::int64_t>(chars_shown), "character"));
        return results::Canonical{summary, base::to_json(out).as_object(), std::move(media)};
    }

private:
    json::array content() const {
        const auto* list = base::find(result_, "content");
        if (!list || !list->is_array()) return {};
        json::array pieces = list->get_array();
        if (pieces.size() > kPiecesMax) pieces.erase(pieces.begin() + kPiecesMax, pieces.end());
        return pieces;
    }

    static base::Result<std::int64_t> keep(CallResult& out, std::string_view role,
                                           std::string_view bytes, results::ArtifactSink& sink) {
        if (!out.artifacts) out.artifacts.emplace();
        out.artifacts->push_back({TRY(sink.store(role, bytes))});
        return static_cast<std::int64_t>(out.artifacts->size()) - 1;
    }

    base::Status add_text(CallResult& out, const std::string& text, std::size_t chars,
                          results::ArtifactSink& sink) const {
        const auto shown =
            results::preview({.head = text,
                              .bytes = text.size(),
                              .lines = static_cast<std::uint64_t>(std::ranges::count(text, '\n')) +
                                       (text.empty() || text.ends_with('\n') ? 0 : 1)},
                             chars);
        // Removes escape sequences of an external program.
        out.text_preview = base::printable(shown.text, true);
        const auto* list = base::find(result_, "content");
        out.truncated =
            shown.truncated || (list && list->is_array() && list->get_array().size() > kPiecesMax);
        if (shown.truncated) out.text_artifact = TRY(keep(out, "text", text, sink));
        return {};
    }

    static base::Status add_piece(CallResult& out, const json::value& piece,
                                  std::vector<domain::Media>& media, results::ArtifactSink& sink) {
        const auto* resource = base::find(piece, "resource");
        const json::value& described = resource ? *resource : piece;
        Piece entry{.type = word_at(piece, "type").value_or("unknown"),
                    .mime_type = word_at(described, "mimeType"),
                    .uri = word_at(described, "uri")};
        if (const auto* text = text_of(piece))
            entry.bytes = static_cast<std::int64_t>(text->get_string().size());
        if (const auto* data = payload_of(piece)) {
            const std::string bytes = scan::decode_base64(data->get_string(), kLineBytesMax);
            entry.bytes = static_cast<std::int64_t>(bytes.size());
            TRY(add_payload(out, entry, bytes, media, sink));
        }
        out.content.push_back(std::move(entry));
        return {};
    }

    // The bytes decide what is an image; the server's word only decides whether it was to be one.
    static base::Status add_payload(CallResult& out, Piece& entry, std::string_view bytes,
                                    std::vector<domain::Media>& media,
                                    results::ArtifactSink& sink) {
        const auto facts = results::image_facts(bytes);
        entry.artifact =
            TRY(keep(out, facts ? fmt::format("image.{}", facts->suffix) : "content", bytes, sink));
        if (!facts) {
            const bool claims_image =
                entry.type == "image" || entry.mime_type.value_or("").starts_with("image/");
            if (claims_image) entry.not_shown = "its bytes are no PNG, JPEG, GIF or WebP image";
            return {};
        }
        entry.image_type = facts->mime_type;
        entry.not_shown = results::image_refusal(*facts, bytes.size(), media);
        if (entry.not_shown) return {};
        media.push_back(
            {.mime_type = std::string(facts->mime_type),
             .file = std::filesystem::path(out.artifacts->back().path).filename().string(),
             .sha256 = base::sha256_hex(bytes),
             .bytes = static_cast<std::int64_t>(bytes.size()),
             .width = facts->width,
             .height = facts->height});
        return {};
    }

    base::Status add_structured(CallResult& out, std::size_t chars,
                                results::ArtifactSink& sink) const {
        const auto* structured = base::find(result_, "structuredContent");
        if (!structured || structured->is_null()) return {};
        const std::string text = base::json_text(*structured);
        if (text.size() <= chars) {
            out.structured_content = *structured;
        } else {
            out.truncated = true;
            out.structured_artifact = TRY(keep(out, "structured", text, sink));
        }
        return {};
    }

    std::string server_, tool_;
    json::object result_;
};

}  // namespace

results::Completed completed(const std::string& server, const std::string& tool,
                             json::object result, results::ArtifactSink& sink) {
    if (base::string_at(json::value(result), "resultType") == "input_required")
        return std::unexpected(domain::ToolError{
            .kind = "mcp_input_required",
            .message = fmt::format("The MCP server {} wants to ask something before it answers, "
                                   "which is not supported.",
                                   server),
            .details =
                json::object{{"server", server}, {"tool", base::plain_text(tool, kWordCharsMax)}},
            .recovery_hint = "Give all it needs in the arguments, or use another tool."});
    if (!base::bool_at(json::value(result), "isError"))
        return std::make_unique<CallOutput>(server, tool, std::move(result));
    const auto* list = base::find(result, "content");
    const std::string words =
        list && list->is_array() ? joined_text(list->get_array()) : std::string();
    const std::string shown = base::plain_text(words, kErrorCharsMax);
    json::object details{{"server", server}, {"tool", base::plain_text(tool, kWordCharsMax)}};
    if (base::char_count(base::to_utf8(words)) > kErrorCharsMax)
        if (const auto path = sink.store("error", words)) details["artifact"] = *path;
    return std::unexpected(domain::ToolError{
        .kind = "mcp_tool_error",
        .message = shown.empty()
                       ? fmt::format("The tool of the MCP server {} failed and did not "
                                     "say why.",
                                     server)
                       : fmt::format("The tool of the MCP server {} failed: {}", server, shown),
        .details = std::move(details),
        .recovery_hint = "Read what it says, change the arguments or use another tool."});
}

json::object listed_resources(const json::object& result) {
    std::string text;
    const auto* list = base::find(result, "resources");
    for (const auto& resource : list && list->is_array() ? list->get_array() : json::array()) {
        const auto word = [&](std::string_view name) {
            return base::plain_text(base::string_at(resource, name), kResourceCharsMax);
        };
        text += word("uri");
        for (const char* name : {"mimeType", "name", "title", "description"})
            if (const std::string words = word(name); !words.empty())
                text += " | " + base::collapse_whitespace(words);
        text += '\n';
    }
    if (text.empty()) text = "No resources.\n";
    const std::string next = base::string_at(json::value(result), "nextCursor");
    if (!next.empty()) text += "More with the cursor " + base::plain_text(next, kResourceCharsMax);
    return {{"content", {{{"type", "text"}, {"text", text}}}}};
}

json::object read_resource(const json::object& result) {
    json::array content;
    const auto* list = base::find(result, "contents");
    for (const auto& part : list && list->is_array() ? list->get_array() : json::array())
        content.push_back(json::object{{"type", "resource"}, {"resource", part}});
    return {{"content", std::move(content)}};
}

namespace {

// ", image/png, 69 bytes, kept as artifact 1", and why models are not shown an image.
std::string kept_line(const json::value& piece, const json::value* artifact) {
    if (!artifact || !artifact->is_int64()) return "";
    const std::string image_type = base::string_at(piece, "image_type");
    const std::string type = image_type.empty() ? base::string_at(piece, "mime_type") : image_type;
    const std::string reason = base::string_at(piece, "not_shown");
    return fmt::format("{}, {} bytes, kept as artifact {}{}", type.empty() ? "" : ", " + type,
                       base::int_at(piece, "bytes"), artifact->get_int64() + 1,
                       reason.empty() ? "" : ", not shown: " + reason);
}

}  // namespace

std::string render(const results::Envelope& envelope) {
    const json::value result(envelope.result());
    std::string text = base::string_at(result, "text_preview");
    const auto* structured = base::find(result, "structured_content");
    // Servers are asked to repeat structured content as text; it is shown once.
    if (text.empty() && structured && !structured->is_null()) text = base::pretty_json(*structured);
    if (text.empty()) text = "The tool answered without text.";
    for (const auto& piece : result.at("content").as_array()) {
        const std::string uri = base::string_at(piece, "uri");
        const auto* artifact = base::find(piece, "artifact");
        if (uri.empty() && !(artifact && artifact->is_int64())) continue;
        text += fmt::format("\n[{}{}{}]", base::string_at(piece, "type"),
                            uri.empty() ? "" : " " + uri, kept_line(piece, artifact));
    }
    const auto* artifacts = base::find(result, "artifacts");
    if (!artifacts || !artifacts->is_array()) return text;
    text += "\n\nArtifacts:";
    for (const auto& artifact : artifacts->get_array())
        text += "\n" + base::string_at(artifact, "path");
    return text;
}

}  // namespace mcp
