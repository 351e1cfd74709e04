// What an MCP tool gives back, as the result of one of ours.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/typed.h"
#include "exec/results/project.h"

namespace mcp {

// Pieces of one result; more are left out, and the result says so.
inline constexpr std::size_t kPiecesMax = 64;

// The family's canonical result. Text of all pieces is shown together; what is no text, and text
// that is too long to show, is kept as an artifact. An image is shown, too, to models that take
// images; audio is not, as no model API of ours is sent audio.
struct Piece {
    std::string type;  // text, image, audio, resource, resource_link, or what the server calls it.
    std::optional<std::string> mime_type{};
    std::optional<std::string> uri{};
    std::optional<std::int64_t> bytes{};
    std::optional<std::int64_t> artifact{};  // Its place in `artifacts`.
    // What the bytes are, where they are an image; `mime_type` is what the server calls them.
    std::optional<std::string> image_type{};
    std::optional<std::string> not_shown{};  // Why models are not shown what claims to be an image.
};
BOOST_DESCRIBE_STRUCT(Piece, (), (type, mime_type, uri, bytes, artifact, image_type, not_shown))
struct ArtifactRef {
    std::string path;
};
BOOST_DESCRIBE_STRUCT(ArtifactRef, (), (path))
struct CallResult {
    std::string server;
    std::string tool;  // The server's own name for it.
    std::string text_preview;
    bool truncated{false};
    std::vector<Piece> content{};
    std::optional<json::value> structured_content{};
    std::optional<std::int64_t> text_artifact{};
    std::optional<std::int64_t> structured_artifact{};
    std::optional<std::vector<ArtifactRef>> artifacts{};
    std::optional<std::vector<domain::Media>> media{};  // Filled by results::project().
};
BOOST_DESCRIBE_STRUCT(CallResult, (),
                      (server, tool, text_preview, truncated, content, structured_content,
                       text_artifact, structured_artifact, artifacts, media))

// The result of tools/call: an Output, or, where the server says that the tool failed, an error
// with its words. Long words of a failure are kept in `sink`.
results::Completed completed(const std::string& server, const std::string& tool,
                             json::object result, results::ArtifactSink& sink);

// The results of resources/list and resources/read as those of a tool: a line for each resource,
// and the contents as pieces.
json::object listed_resources(const json::object& result);
json::object read_resource(const json::object& result);

std::string render(const results::Envelope& envelope);

}  // namespace mcp
