#include "provider/openai_codex/wire.h"
#include "provider/openai_responses/wire.h"

namespace provider::openai_codex {
namespace {

using openai_responses::PatchForm;

constexpr std::string_view kCodexPath = "/codex";
constexpr std::string_view kPath = "/responses";

}  // namespace

std::string endpoint_url(std::string_view base_url) {
    while (base_url.ends_with('/')) base_url.remove_suffix(1);
    std::string url(base_url);
    if (url.ends_with(kPath)) return url;
    if (!url.ends_with(kCodexPath)) url += kCodexPath;
    return url.append(kPath);
}

json::object encode_request(const Request& request, const std::optional<std::string>& effort) {
    json::object body = openai_responses::encode_common_frame(request, PatchForm::Freeform);
    body["stream"] = true;
    body["reasoning"] = nullptr;
    body["include"] = json::array();
    if (effort) {
        body["reasoning"] = json::object{{"effort", *effort}};
        body["include"].get_array().emplace_back("reasoning.encrypted_content");
    }
    body["input"] = openai_responses::encode_input(request, PatchForm::Freeform);
    return body;
}

json::object request_diagnostics(const Request& request, const std::optional<std::string>& effort) {
    json::object controls{{"reasoning_sent", effort.has_value()},
                          {"include_reasoning_encrypted_content", effort.has_value()},
                          {"max_output_tokens_sent", false},
                          {"max_output_tokens_unsupported", true}};
    if (effort) controls["reasoning_effort"] = *effort;
    json::object out{{"request_lowering_mode", "full_request"}};
    out["incremental_continuation"] = {
        {"status", "fallback_full_request"},
        {"fallback_reason", has_answers(request) ? "codex_incremental_continuation_unsupported"
                                                 : "not_applicable_initial_request"}};
    out["openai_request_controls"] = std::move(controls);
    return out;
}

}  // namespace provider::openai_codex
