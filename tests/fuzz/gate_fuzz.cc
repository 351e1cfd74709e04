// Any bytes are a result document: the parser and the decoders have to answer, never to fall over.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "base/scan/engine/encodings.h"
#include "base/text.h"
#include "exec/gate/content.h"
#include "exec/gate/document/document.h"
#include "exec/gate/document/front_matter.h"
#include "exec/gate/text/payloads.h"

namespace {

void check_document(std::string_view text) {
    const auto parsed = gate::parse(text);
    for (const auto& fault : parsed.faults)
        CHECK(!fault.rule.empty() && !fault.message.empty() && base::is_utf8(fault.message),
              "a fault has a rule and a message in UTF-8");
    for (const auto& section : parsed.sections)
        CHECK(section.begin <= section.end && section.end <= text.size(),
              "a section is inside the text");
    if (!parsed.faults.empty()) return;
    const auto again = gate::parse(gate::render(parsed.document));
    CHECK(again.faults.empty() && again.document == parsed.document,
          "what is read is written and read again");
}

void check_encodings(std::string_view text) {
    constexpr std::size_t kMax = 4096;
    CHECK(scan::decode_base64(scan::base64(text.substr(0, kMax)), kMax) == text.substr(0, kMax),
          "base64 is read back");
    CHECK(scan::decode_base64(text, kMax).size() <= kMax, "decoding is bounded");
    CHECK(scan::decode_hex(text, kMax).size() <= kMax, "decoding is bounded");
    CHECK(scan::inflate(text, kMax).size() <= kMax, "unpacking is bounded");
    for (const auto& payload : gate::find_payloads(text))
        CHECK(payload.begin < payload.end && payload.end <= text.size(),
              "a payload is inside the text");
    if (!text.empty()) gate::is_reported(text, text.size() / 2, text.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    check_document(text);
    check_encodings(text);
    const auto yaml = gate::read_yaml(text);
    CHECK(yaml.faults.empty() || yaml.value.is_null(), "a faulty text has no value");
    return 0;
}
