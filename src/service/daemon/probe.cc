#include "service/daemon/probe.h"

#include "service/remote/client.h"

namespace service {
namespace {

bool is_same_folder(const std::string& a, const std::filesystem::path& b) {
    std::error_code failed;
    const auto canonical = [&](const std::filesystem::path& path) {
        auto out = std::filesystem::weakly_canonical(path, failed);
        return failed ? path : out;
    };
    return canonical(a) == canonical(b);
}

}  // namespace

Control judge(const base::Result<json::value>& answer, const std::filesystem::path& home) {
    if (!answer) {
        const auto& error = answer.error();
        if (error.kind == kUnreachable) return Control::Absent;
        // It may be our daemon and stuck, or any program: the lock decides.
        return error.code == base::ErrorCode::Unavailable ? Control::Silent : Control::Foreign;
    }
    if (!answer->is_object() || !base::bool_at(*answer, "ok")) return Control::Foreign;
    // Only members that every version reports are used.
    const std::string home_dir = base::string_at(*answer, "home_dir");
    if (!home_dir.empty() && !is_same_folder(home_dir, home)) return Control::Foreign;
    return Control::Answers;
}

DaemonFacts inspect(const RunFiles& files, const std::filesystem::path& home) {
    DaemonFacts facts{.lock_held = is_runtime_locked(files)};
    const auto written = read_pid(files);
    if (facts.lock_held && written && has_lock_open(files, *written)) facts.holder = written;
    for (const auto& file : files.left_behind()) facts.left_behind.push_back(file.string());
    if (std::error_code failed; !std::filesystem::exists(files.socket, failed)) return facts;
    const Client client({.socket = files.socket});
    auto answer = client.ask({.path = "/control/runtime/status", .timeout = kProbeTimeout});
    // A daemon with a failing store can still identify itself.
    if (!answer && !answer.error().details.empty())
        answer = client.ask({.path = "/control/runtime/readiness", .timeout = kProbeTimeout});
    facts.control = judge(answer, home);
    if (facts.control == Control::Answers) facts.runtime = std::move(answer->get_object());
    return facts;
}

bool takes_token(const std::string& url, const std::string& token) {
    const Request request{.path = "/handshake", .timeout = kProbeTimeout};
    const auto with = Client({.url = url, .token = token}).ask(request);
    return with && !Client({.url = url}).ask(request);
}

}  // namespace service
