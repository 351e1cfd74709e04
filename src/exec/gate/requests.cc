#include "exec/gate/requests.h"

#include <algorithm>

#include "base/hash.h"
#include "base/text.h"
#include "exec/sandbox/network_log.h"
#include "exec/tasks/spec.h"

namespace gate {
namespace {

constexpr std::size_t kIdCharsMax = 120;  // Of a call's id within that of its request.
constexpr int kSignalExit = 128;          // As shells count.
constexpr int kTimeoutExit = 124;
constexpr std::string_view kOpenNetwork =
    "Not known: the command had the network of this machine, which nobody observed.";
constexpr std::string_view kPossibleNetwork =
    "Not known for this call alone: it could reach the hosts of the allow-list, and no others: ";

std::string request_id(std::string_view id, std::string_view suffix) {
    std::string name(id.substr(0, kIdCharsMax));
    for (char& c : name)
        if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '-' && c != '_' && c != '.')
            c = '-';
    return fmt::format("TR-{}{}", name, suffix);
}

std::string bounded(std::string text) {
    if (text.size() <= kCommandBytesMax) return text;
    const auto digest = base::sha256_hex(text);
    return fmt::format("{}… ({} bytes, sha256 {})", base::to_utf8(text.substr(0, kCommandBytesMax)),
                       text.size(), digest);
}

// Every text in `value` on lines of its own, as it is and not as JSON would spell it: rules look
// for words, and an escape in front of a word would hide it. A name ends like a sentence, or it
// would read as "somebody said:" in front of what follows.
void append_text(const json::value& value, std::string_view name, std::string& out) {
    if (value.is_object()) {
        for (const auto& member : value.get_object())
            append_text(member.value(), member.key(), out);
    } else if (value.is_array()) {
        for (const auto& entry : value.get_array()) append_text(entry, name, out);
    } else {
        out += fmt::format(
            "{}.\n{}\n", name,
            value.is_string() ? std::string(value.get_string()) : base::json_text(value));
    }
}

// Keeps what a projection would put into files.
class Payloads final : public results::ArtifactSink {
public:
    base::Result<std::string> store(std::string_view role, std::string_view bytes) override {
        files.push_back({.source = std::string(bytes),
                         .path = fmt::format("payload-{}.txt", files.size() + 1),
                         .description = fmt::format("All of {}.", role)});
        return files.back().path;
    }
    std::filesystem::path reserve(std::string_view) override { return {}; }
    std::vector<ProducedFile> files;
};

Source whole(const base::CapturedStream& stream, const std::filesystem::path& spill) {
    if (stream.spilled && stream.spill_error.empty()) return spill;
    return stream.head + stream.tail;
}

std::string unusual(const results::Evidence& evidence) {
    const auto& exit = evidence.exit;
    std::vector<std::string> notes;
    if (exit.timed_out) notes.emplace_back("it ran into its time limit");
    if (exit.cancelled) notes.emplace_back("it was cancelled");
    if (exit.signal) notes.push_back(fmt::format("it was ended by signal {}", *exit.signal));
    if (exit.output_cut_off) notes.emplace_back("a process it left behind held its output open");
    if (evidence.dropped_bytes > 0)
        notes.push_back(fmt::format("{} bytes of output were not kept", evidence.dropped_bytes));
    if (!exit.out.spill_error.empty() || !exit.err.spill_error.empty())
        notes.emplace_back("the middle of its output was lost");
    return fmt::format("{}", fmt::join(notes, "; "));
}

int exit_code(const base::ProcessExit& exit) {
    if (exit.exit_code) return *exit.exit_code;
    return exit.timed_out ? kTimeoutExit : kSignalExit + exit.signal.value_or(0);
}

struct Network {
    std::vector<std::string> reached, refused;
};

Network network_of(const std::filesystem::path& log) {
    Network network;
    for (const auto& entry : sandbox::read_network_log(log)) {
        auto& list = entry.is_connected() ? network.reached : network.refused;
        if (list.size() < kDestinationsMax &&
            std::ranges::find(list, entry.destination) == list.end())
            list.push_back(entry.destination);
    }
    return network;
}

void add_open_network(FinishedRequest& request) {
    request.network_used = NetworkUsed::Allowlist;
    request.network_destinations = {"any"};
    request.network_note = kOpenNetwork;
}

void add_network(FinishedRequest& request, const std::filesystem::path& log,
                 const BackendFacts& backend) {
    if (backend.network_is_open) return add_open_network(request);
    const auto network = network_of(log);
    if (!network.reached.empty()) {
        request.network_used = NetworkUsed::Allowlist;
        request.network_destinations = network.reached;
    }
    if (!network.refused.empty())
        request.unexpected_behavior =
            request.unexpected_behavior.value_or("") +
            fmt::format("{}it asked for destinations it did not reach: {}",
                        request.unexpected_behavior ? "; " : "", fmt::join(network.refused, ", "));
}

// Of work that continues in the background or serves other calls, too: it is unknown what it
// reached for this one, only what it could reach.
void add_possible_network(FinishedRequest& request, const BackendFacts& backend) {
    if (backend.network_is_open) return add_open_network(request);
    if (backend.hosts.empty()) return;
    request.network_used = NetworkUsed::Allowlist;
    request.network_destinations = backend.hosts;
    if (request.network_destinations.size() > kDestinationsMax)
        request.network_destinations.resize(kDestinationsMax);
    request.network_note =
        fmt::format("{}{}", kPossibleNetwork, fmt::join(request.network_destinations, ", "));
}

void add_backend(FinishedRequest& request, const BackendFacts& backend) {
    request.backend = backend.name;
    request.limits = backend.limits;
    if (!backend.version.empty()) request.backend_version = backend.version;
}

FinishedRequest of_command(std::string id, std::string command, const Reporter& reporter) {
    FinishedRequest request{.request_id = std::move(id),
                            .command = bounded(std::move(command)),
                            .executor = reporter.executor,
                            .created = reporter.now};
    add_backend(request, reporter.backend);
    return request;
}

FinishedRequest of_evidence(std::string id, const results::Evidence& evidence,
                            const Reporter& reporter) {
    auto request = of_command(std::move(id), evidence.command, reporter);
    request.exit_code = exit_code(evidence.exit);
    request.runtime_sec = std::chrono::duration<double>(evidence.exit.duration).count();
    if (auto note = unusual(evidence); !note.empty()) request.unexpected_behavior = std::move(note);
    add_network(request, evidence.network_log, reporter.backend);
    request.stdout_file = whole(evidence.exit.out, evidence.stdout_spill);
    request.stderr_file = whole(evidence.exit.err, evidence.stderr_spill);
    return request;
}

// Where a call that left no evidence of a command did its work.
void add_surroundings(FinishedRequest& request, const tools::FinishedCall& finished,
                      const BackendFacts& backend) {
    if (finished.runs_behind != tools::RunsBehind::Nothing) {
        add_backend(request, backend);
        return add_possible_network(request, backend);
    }
    request.backend = "runtime";
    request.network_note = "The tool runs inside the runtime and starts no command.";
    if (finished.family != tools::Family::Web) return;
    request.network_used = NetworkUsed::Allowlist;
    request.network_destinations = {"any"};
    request.network_note = "The tool reads the web; see its arguments.";
}

// A call that ran no command to its end: all that it says, and all that it would keep in files.
FinishedRequest of_tool(const tools::FinishedCall& finished, const Reporter& reporter) {
    const auto& call = finished.call;
    FinishedRequest request{
        .request_id = request_id(call.call_id.value, ""),
        .command = bounded(fmt::format("{} {}", call.tool, base::json_text(call.args))),
        .executor = reporter.executor,
        .runtime_sec = std::chrono::duration<double>(reporter.now - finished.started_at).count(),
        .created = reporter.now};
    add_surroundings(request, finished, reporter.backend);
    Payloads payloads;
    const auto envelope =
        results::project(call.tool, finished.outcome->completed, payloads, finished.output);
    std::string said, complained;
    if (envelope.ok()) {
        append_text(json::value(envelope.summary_text()), "summary", said);
        append_text(envelope.result(), "result", said);
    } else {
        request.exit_code = 1;
        append_text(base::to_json(envelope.error()), "error", complained);
    }
    request.stdout_file = std::move(said);
    request.stderr_file = std::move(complained);
    request.files = std::move(payloads.files);
    return request;
}

}  // namespace

std::vector<FinishedRequest> requests_of(const tools::FinishedCall& finished,
                                         const Reporter& reporter) {
    const auto& completed = finished.outcome->completed;
    auto evidence = completed ? (*completed)->evidence() : std::vector<results::Evidence>{};
    std::vector<FinishedRequest> requests;
    for (std::size_t i = 0; i < evidence.size(); ++i)
        requests.push_back(
            of_evidence(request_id(finished.call.call_id.value,
                                   evidence.size() > 1 ? fmt::format(".{}", i + 1) : ""),
                        evidence[i], reporter));
    if (requests.empty()) requests.push_back(of_tool(finished, reporter));
    return requests;
}

FinishedRequest request_of(const tasks::FinishedOutput& finished, const Reporter& reporter) {
    const auto detail = tasks::detail_of(finished.task);
    auto request = of_command(request_id(finished.task.id.value, ".task"), detail.cmd, reporter);
    results::Evidence evidence;
    if (const auto* ended = std::get_if<supervisor::Ended>(&finished.end)) {
        evidence = {.exit = {.exit_code = ended->exit_code,
                             .signal = ended->signal,
                             .cancelled = ended->stopped,
                             .output_cut_off = ended->output_cut_off,
                             .duration = ended->duration},
                    .dropped_bytes = ended->dropped_bytes};
        request.exit_code = exit_code(evidence.exit);
        request.runtime_sec = std::chrono::duration<double>(ended->duration).count();
    } else {
        request.exit_code = -1;
    }
    if (auto note = unusual(evidence); !note.empty()) request.unexpected_behavior = std::move(note);
    add_network(request, detail.network_log.value_or(""), reporter.backend);
    // Both streams of a task are one log, in the order in which they were printed.
    std::error_code failed;
    if (detail.output_path && std::filesystem::is_regular_file(*detail.output_path, failed))
        request.stdout_file = std::filesystem::path(*detail.output_path);
    else
        request.stdout_file = detail.output_summary.value_or(detail.initial_output.value_or(""));
    request.stderr_file = std::string();
    return request;
}

}  // namespace gate
