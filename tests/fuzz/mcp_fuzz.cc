// Any bytes are a server's output: lines stay within their bound however the bytes arrive, and what
// they say becomes messages, offers and results that keep their promises.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/text.h"
#include "exec/tools/mcp/catalogue.h"
#include "exec/tools/mcp/output.h"
#include "exec/tools/mcp/wire/line_codec.h"
#include "exec/tools/mcp/wire/message.h"
#include "exec/tools/mcp/wire/schema.h"

namespace {

constexpr std::size_t kBound = 512;

class NoArtifacts final : public results::ArtifactSink {
public:
    base::Result<std::string> store(std::string_view, std::string_view) override { return "/x"; }
    std::filesystem::path reserve(std::string_view) override { return "/x"; }
};

std::vector<std::string> lines_of(std::string_view bytes, std::size_t piece) {
    std::vector<std::string> lines;
    mcp::LineCodec codec(kBound);
    for (; !bytes.empty(); bytes.remove_prefix(std::min(piece, bytes.size())))
        codec.add(
            bytes.substr(0, piece), [&](std::string_view line) { lines.emplace_back(line); },
            [] {});
    return lines;
}

void offer(const json::object& result) {
    std::vector<json::value> listed{result};
    if (const auto* list = base::find(result, "tools"); list && list->is_array())
        listed.assign(list->get_array().begin(), list->get_array().end());
    const auto found = mcp::catalogue({.name = "s", .command = "c"}, {.tools = listed});
    for (const auto& offer : found.offers) {
        CHECK(offer.name.size() <= mcp::kNameCharsMax, "a name fits");
        CHECK(base::printable(offer.description, true) == offer.description, "words are plain");
        CHECK(base::json_text(offer.input_schema).size() <= mcp::kSchemaBytesMax, "a schema fits");
    }
}

void complete(const json::object& result) {
    NoArtifacts sink;
    const auto completed = mcp::completed("s", "t", result, sink);
    const auto envelope = results::project("mcp__s__t", completed, sink, {});
    const std::string receipt = results::render(envelope, mcp::render);
    CHECK(base::is_utf8(receipt), "a receipt is text");
    CHECK(!receipt.contains('\x1b'), "a receipt does not steer a terminal");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const std::string_view bytes(reinterpret_cast<const char*>(data + 1), size - 1);
    const auto lines = lines_of(bytes, bytes.size() + 1);
    CHECK(lines_of(bytes, data[0] % 64 + 1U) == lines, "how bytes arrive changes nothing");
    for (const auto& line : lines) {
        CHECK(line.size() <= kBound, "a line is within its bound");
        for (const auto& message : mcp::decode(line)) {
            const auto* reply = std::get_if<mcp::Reply>(&message);
            if (!reply) continue;
            offer(reply->result);
            complete(reply->result);
        }
    }
    return 0;
}
