#include "service/remote/remote_gate.h"

#include "base/text.h"
namespace service {
namespace {

// Judging waiting documents and their artifacts may take long.
constexpr std::chrono::milliseconds kJudgeTimeout = 10min;
constexpr std::string_view kDocuments = "/control/gate/documents";

std::string path_of(const std::string& document_id, std::string_view rest) {
    return fmt::format("{}/{}{}", kDocuments, base::percent_encoded(document_id), rest);
}

template <class T>
base::Result<T> decode(const json::value& value) {
    auto decoded = base::from_json<T>(value);
    if (!decoded)
        return base::fail(base::ErrorCode::Corrupt,
                          "the daemon's answer about the gate cannot be read ({}); is it of "
                          "another version? Compare holon --version with holon daemon status",
                          decoded.error().message);
    return decoded;
}

}  // namespace

base::Result<json::value> RemoteGate::post(std::string path, const json::value& body) const {
    return client_.ask({.method = Method::Post,
                        .path = std::move(path),
                        .body = base::json_text(body),
                        .timeout = kJudgeTimeout});
}

base::Result<GateVerdict> RemoteGate::check(const std::string& file) {
    return decode<GateVerdict>(TRY(post("/control/gate/check", json::object{{"file", file}})));
}

base::Result<Listed<domain::GateDocument>> RemoteGate::list(std::optional<domain::GatePlace> place,
                                                            const ListQuery& query) {
    std::string path(kDocuments);
    if (place) path += fmt::format("?place={}", base::enum_name(*place));
    auto answer = TRY(client_.list(std::move(path), query, kJudgeTimeout));
    return Listed<domain::GateDocument>{
        .items = TRY(decode<std::vector<domain::GateDocument>>(answer.body)),
        .next = std::move(answer.next)};
}

base::Result<GateView> RemoteGate::show(const std::string& document_id) {
    return decode<GateView>(
        TRY(client_.ask({.path = path_of(document_id, ""), .timeout = kJudgeTimeout})));
}

base::Result<domain::GateDocument> RemoteGate::release(const std::string& document_id,
                                                       const std::string& reason) {
    return decode<domain::GateDocument>(
        TRY(post(path_of(document_id, "/release"), json::object{{"reason", reason}})));
}

base::Result<std::vector<domain::GateDocument>> RemoteGate::purge(const PurgeRequest& request) {
    return decode<std::vector<domain::GateDocument>>(
        TRY(post("/control/gate/purge", base::to_json(request))));
}

}  // namespace service
