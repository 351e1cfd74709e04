// One server, a process or a remote one: started when it is needed, spoken to, and started again
// when it has died.
//
// Everything happens on the loop. A session starts its server at the first open() or call(); a
// server that died is started again by the next call, after a delay that doubles with each death in
// a row. No request that may have been executed is ever sent twice.
#pragma once

#include <chrono>
#include <deque>
#include <expected>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/log/log_file.h"
#include "base/os/loop.h"
#include "base/time.h"
#include "config/sections/mcp.h"
#include "exec/sandbox/boundary.h"
#include "exec/tools/mcp/ask/questions.h"
#include "exec/tools/mcp/catalogue.h"
#include "exec/tools/mcp/child.h"
#include "exec/tools/mcp/failure.h"
#include "exec/tools/mcp/wire/line_codec.h"
#include "exec/tools/mcp/wire/message.h"
#include "exec/tools/tool.h"

namespace mcp {

inline constexpr std::size_t kPagesMax = 32;
// Of all pages together; a longer list of tools ends the server.
inline constexpr std::size_t kListBytesMax = std::size_t{4} * 1024 * 1024;
// What one process may write to its standard error; the rest of its life is not kept.
inline constexpr std::size_t kErrorBytesMax = std::size_t{16} * 1024 * 1024;
// Lines that are no messages, in the life of one process; then it is ended.
inline constexpr std::size_t kGarbageMax = 64;
// What it may write without completing a line; then it is ended.
inline constexpr std::size_t kUnendingBytesMax = std::size_t{512} * 1024 * 1024;
inline constexpr std::chrono::milliseconds kRestartDelayFirst{250};
inline constexpr std::chrono::milliseconds kRestartDelayMax{30'000};
inline constexpr std::size_t kServerLogBytesMax = 1024 * 1024;
// How often a process is asked for a changed list; then its changes wait for the next one.
inline constexpr int kListChangesMax = 64;
// However much progress a call reports, it ends after so many of its timeouts.
inline constexpr int kProgressTimeoutsMax = 60;

// What one process may ask the operator; more is refused.
inline constexpr int kQuestionsPerProcessMax = 64;
// How often one call may want more input.
inline constexpr int kInputRoundsMax = 8;

// How long after its last death a server is started again, after so many deaths in a row.
std::chrono::milliseconds restart_delay(int deaths);

// A list that is being read, page by page.
struct Listing {
    std::vector<json::value> tools;
    std::size_t bytes{0};
    std::size_t pages{0};
};

struct SessionParts {
    config::McpServer server;
    base::Loop& loop;
    base::Clock& clock;
    ChildRunner& children;
    const sandbox::Boundary& boundary;
    // Where the server's questions to the operator go; none: they are refused, since no operator
    // is connected.
    Questions* questions{nullptr};
    std::filesystem::path log_file;  // What the server writes to its standard error.
};

class Session {
public:
    using Answer = std::expected<json::object, Failure>;

    explicit Session(SessionParts parts);
    // Ends the server. Answers that are still awaited never come.
    ~Session();
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    const config::McpServer& server() const { return parts_.server; }

    // Called on the loop each time that the server has listed its tools: at its first start, and
    // when it says that they have changed.
    void on_listed(std::function<void()> listener) { listener_ = std::move(listener); }

    // Starts the server unless it runs, and lists its tools the first time. `done` comes once, not
    // before this returns.
    void open(std::move_only_function<void(base::Status)> done);

    // Makes one request, such as tools/call; the timeout counts from now, the server's start
    // included, and again from each progress that the server reports. `done` comes once, not before
    // this returns. cancel() of the handle asks the server to stop, and answers.
    std::shared_ptr<tools::Running> call(std::string method, json::object params,
                                         std::chrono::milliseconds timeout,
                                         std::move_only_function<void(Answer)> done);

    // As it was listed last.
    const Listed& listed() const { return listed_; }
    bool has_prompts() const { return has_prompts_; }
    bool is_ready() const { return state_ == State::Ready; }
    const std::string& protocol_version() const { return protocol_version_; }
    // The server's name and version for itself; not to be believed.
    const std::string& introduction() const { return introduction_; }

private:
    enum class State { Stopped, Starting, Ready };
    struct Pending;  // pending.h
    class Handle;
    using OnReply = std::move_only_function<void(Answer)>;

    void start();
    void spawn();
    base::Result<base::ProcessSpec> process() const;
    base::Result<std::unique_ptr<Child>> reach(ChildEvents events);
    void introduce();
    void on_introduced(const Answer& answer);
    // Asks a server that refused the handshake whether it does without one.
    void discover(const std::string& refusal);
    void on_discovered(const Answer& answer, const std::string& refusal);
    void accept(const json::object& introduction, std::string version);
    void list_tools();
    void list_page(const std::string& cursor);
    void on_page(const Answer& answer, const std::string& cursor);
    void end_list();
    // At the first list the server is of no use; later the old list stays.
    void give_up_list(const std::string& why);
    void become_ready();
    // The server has ended or is unusable: end it, and fail all calls that wait for it.
    void lose(const std::string& why);

    std::int64_t send(std::string_view method, json::object params, OnReply on_reply);
    void say(const std::string& line);
    void send_call(const std::shared_ptr<Pending>& call);
    void finish(const std::shared_ptr<Pending>& call, Answer answer);
    // Ends our interest in a call, and the server's where it had been sent.
    void abandon(const std::shared_ptr<Pending>& call, Failure failure);
    void fail_sent(const Failure& failure);
    void set_timer(const std::shared_ptr<Pending>& call);
    void on_progress(const json::object& params);

    void listen(std::string_view bytes);
    void hear(std::string_view line);
    void on(const Reply& reply);
    void on(const ErrorReply& error);
    void settle(std::int64_t id, Answer answer);
    void on(const Request& request);
    void on(const Notification& notification);

    json::object capabilities() const;
    void elicit(const Request& request);
    void stop_asking(const json::object& params);
    void withdraw_questions();
    void withdraw_inputs(const Pending& call);
    void hold_timers();
    void resume_timers();
    // Does the answer want more input, which is asked for now?
    bool wants_input(const std::shared_ptr<Pending>& call, const Answer& answer);
    void ask_for_input(const std::shared_ptr<Pending>& call, const json::object& wanted,
                       std::vector<std::pair<std::string, Question>> questions);
    void send_again(const std::shared_ptr<Pending>& call);

    void on(const Garbage& garbage);
    void on_too_long();
    void keep_error_output(std::string_view bytes);
    void note(std::string_view line);

    // Runs `step` unless this session is gone by then.
    base::Loop::TimerHandle later(std::chrono::microseconds delay, base::Job step);
    template <class Event>
    auto while_alive(Event event);

    SessionParts parts_;
    State state_{State::Stopped};
    std::unique_ptr<Child> child_;
    std::shared_ptr<Session*> self_;  // Gone with the session.
    LineCodec out_lines_;
    LineCodec err_lines_;
    std::unique_ptr<base::LogFile> log_;
    bool log_tried_{false};

    std::int64_t next_id_{1};
    std::map<std::int64_t, OnReply> awaited_;
    std::deque<std::shared_ptr<Pending>> waiting_;  // Calls for when the server is ready.
    std::vector<std::shared_ptr<Pending>> sent_;
    std::vector<std::move_only_function<void(base::Status)>> openers_;
    base::Loop::TimerHandle start_timer_{base::Loop::TimerHandle::None};

    std::optional<Listing> listing_;  // The one under way.
    std::function<void()> listener_;
    int list_changes_{0};        // Of the present process.
    bool is_list_stale_{false};  // It changed again while it was read.
    bool has_prompts_{false};
    int questions_asked_{0};                     // Of the present process.
    std::map<std::string, std::string> asking_;  // The ids of questions, by what waits for them.
    bool is_stateless_{false};                   // The revision without a handshake is spoken.
    std::size_t garbage_{0};
    std::size_t unending_bytes_{0};  // Since the last line.
    int deaths_{0};                  // In a row; an answer to a call ends the row.
    base::Time died_at_{};
    bool has_listed_{false};
    Listed listed_;
    std::size_t error_bytes_{0};  // Of the present process.
    std::string protocol_version_;
    std::string introduction_;
};

}  // namespace mcp
