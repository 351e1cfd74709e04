#include "provider/http/http_client.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <map>

#include <curl/curl.h>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include "base/text.h"
#include "provider/http/curl_failure.h"

namespace provider {
namespace {

namespace asio = boost::asio;

constexpr long kIdleConnectionsMax = 16;

bool equal_names(std::string_view a, std::string_view b) {
    return std::ranges::equal(a, b, [](char x, char y) {
        const auto lower = [](char c) {
            return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
        };
        return lower(x) == lower(y);
    });
}

// curl_global_init() is not cheap and not needed by most commands, so it waits for a request.
bool curl_is_ready() {
    static const bool ready = curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
    return ready;
}

bool has_control(std::string_view text) {
    return std::ranges::any_of(
        text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

// A socket of libcurl's as the loop sees it: a duplicate, because libcurl closes its own at will.
struct Watch {
    explicit Watch(asio::io_context& context, int fd) : descriptor(context, fd) {}
    asio::posix::stream_descriptor descriptor;
    int wanted{CURL_POLL_NONE};
    bool reading{false};
    bool writing{false};
};

}  // namespace

const std::string* find_header(const std::vector<HttpHeader>& headers, std::string_view name) {
    for (const auto& header : headers)
        if (equal_names(header.name, name)) return &header.value;
    return nullptr;
}

std::string public_url(std::string_view url) {
    url = url.substr(0, url.find_first_of("?#"));
    const std::size_t scheme = url.find("://");
    const std::size_t start = scheme == url.npos ? 0 : scheme + 3;
    const std::size_t slash = url.find('/', start);
    const std::string_view authority = url.substr(start, slash - start);
    const std::size_t at = authority.rfind('@');
    std::string out(url.substr(0, start));
    out += at == authority.npos ? authority : authority.substr(at + 1);
    if (slash != url.npos) out += url.substr(slash);
    return base::printable(base::to_utf8(out));
}

// Everything that talks to libcurl. Its callbacks run inside curl_multi_socket_action(), where no
// handle may be removed; so they only take notes, and what follows is posted.
class HttpClient::Core : public std::enable_shared_from_this<Core> {
public:
    class Transfer;

    Core(base::AsioLoop& loop, HttpOptions options) : loop_(loop), options_(std::move(options)) {}
    ~Core() { shut_down(); }

    void start(const std::shared_ptr<Transfer>& transfer);
    void end(const std::shared_ptr<Transfer>& transfer, HttpOutcome outcome);
    void shut_down();
    base::AsioLoop& loop() { return loop_; }

private:
    bool open();
    void socket_action(curl_socket_t socket, int events);
    void collect_finished();
    void watch(curl_socket_t socket, int wanted);
    void arm(curl_socket_t socket, const std::shared_ptr<Watch>& watch);
    void on_ready(curl_socket_t socket, const std::shared_ptr<Watch>& watch, int event);

    static int on_socket(CURL*, curl_socket_t socket, int wanted, void* core, void*);
    static int on_timer(CURLM*, long timeout_ms, void* core);

    base::AsioLoop& loop_;
    HttpOptions options_;
    CURLM* multi_{nullptr};
    bool closed_{false};
    base::Loop::TimerHandle timer_{base::Loop::TimerHandle::None};
    std::map<CURL*, std::shared_ptr<Transfer>> transfers_;
    std::map<curl_socket_t, std::shared_ptr<Watch>> watches_;
};

class HttpClient::Core::Transfer final : public Exchange,
                                         public std::enable_shared_from_this<Transfer> {
public:
    Transfer(std::shared_ptr<Core> core, HttpRequest request, ChunkHandler on_chunk,
             std::move_only_function<void(HttpOutcome)> done)
        : core_(std::move(core)),
          loop_(core_->loop()),
          request_(std::move(request)),
          on_chunk_(std::move(on_chunk)),
          done_(std::move(done)),
          url_(public_url(request_.url)) {}
    ~Transfer() override { release(); }

    void cancel() override {
        if (cancelled_ || !done_) return;
        cancelled_ = true;
        // Posted: the caller may be inside one of libcurl's callbacks.
        loop_.post([self = shared_from_this()] {
            if (const auto core = self->core_)
                core->end(self, std::unexpected(cancelled_failure(self->progress())));
        });
    }

    CURL* easy() const { return easy_; }
    const HttpRequest& request() const { return request_; }

    // Why this request cannot be sent, or empty. The value is not repeated: it may be a credential.
    std::string refusal() const {
        for (const auto& header : request_.headers)
            if (has_control(header.name) || has_control(header.value))
                return fmt::format("the header '{}' holds a control character",
                                   base::printable(base::to_utf8(header.name)));
        return "";
    }

    bool prepare(const HttpOptions& options);
    void start_timers();
    // Gives handle, timers and libcurl's memory back. Done once; `done` is still owed.
    void release();

    // Posts the outcome, or that the request was cancelled in the meantime.
    void deliver(HttpOutcome outcome) {
        loop_.post([self = shared_from_this(), outcome = std::move(outcome)]() mutable {
            if (!self->done_) return;
            if (self->cancelled_) outcome = std::unexpected(cancelled_failure(self->progress()));
            std::exchange(self->done_, nullptr)(std::move(outcome));
        });
    }

    HttpOutcome outcome_of(CURLcode code) {
        if (failure_) return std::unexpected(std::move(*failure_));
        if (code == CURLE_OK || response_.is_cut) return std::move(response_);
        return std::unexpected(curl_failure(code, error_text_.data(), progress()));
    }

    TransferProgress progress() const {
        TransferProgress progress{.url = url_, .streaming = on_chunk_ != nullptr};
        if (headers_complete_) progress.status = response_.status;
        return progress;
    }

private:
    static std::size_t on_header(char* data, std::size_t size, std::size_t count, void* self);
    static std::size_t on_body(char* data, std::size_t size, std::size_t count, void* self);
    static curl_socket_t on_open(void* self, curlsocktype purpose, curl_sockaddr* address);
    bool take_header(std::string_view line);
    bool take_body(std::string_view chunk);

    void arm_phase(std::chrono::milliseconds timeout, std::string_view missing) {
        loop_.cancel(phase_timer_);
        phase_timer_ = expire_after(timeout, missing);
    }
    base::Loop::TimerHandle expire_after(std::chrono::milliseconds timeout,
                                         std::string_view missing) {
        return loop_.after(timeout, [weak = weak_from_this(), timeout, missing] {
            const auto self = weak.lock();
            if (!self || !self->core_) return;
            self->core_->end(self,
                             std::unexpected(timeout_failure(missing, timeout, self->progress())));
        });
    }

    std::shared_ptr<Core> core_;  // Null once released, which breaks the cycle.
    base::AsioLoop& loop_;
    HttpRequest request_;
    ChunkHandler on_chunk_;
    std::move_only_function<void(HttpOutcome)> done_;
    std::string url_;
    CURL* easy_{nullptr};
    curl_slist* header_list_{nullptr};
    curl_slist* resolved_list_{nullptr};
    std::array<char, CURL_ERROR_SIZE> error_text_{};
    HttpResponse response_;
    std::size_t header_bytes_{0};
    std::size_t body_bytes_{0};
    bool headers_complete_{false};
    bool cancelled_{false};
    std::optional<Failure> failure_;  // Ours; libcurl then only reports that a callback said no.
    base::Loop::TimerHandle total_timer_{base::Loop::TimerHandle::None};
    base::Loop::TimerHandle phase_timer_{base::Loop::TimerHandle::None};
};

bool HttpClient::Core::Transfer::prepare(const HttpOptions& options) {
    easy_ = curl_easy_init();
    if (!easy_) return false;
    for (const auto& header : request_.headers)
        header_list_ = curl_slist_append(header_list_, (header.name + ": " + header.value).c_str());
    // An "Expect: 100-continue" would cost a round trip on every large prompt.
    header_list_ = curl_slist_append(header_list_, "Expect:");
    const auto set = [&](CURLoption option, auto value) {
        return curl_easy_setopt(easy_, option, value) == CURLE_OK;
    };
    bool good =
        set(CURLOPT_URL, request_.url.c_str()) && set(CURLOPT_NOSIGNAL, 1L) &&
        set(CURLOPT_PROTOCOLS_STR, "http,https") && set(CURLOPT_FOLLOWLOCATION, 0L) &&
        set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_2TLS)) &&
        set(CURLOPT_ACCEPT_ENCODING, "gzip") && set(CURLOPT_HTTPHEADER, header_list_) &&
        set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(request_.timeouts.connect.count())) &&
        set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L) && set(CURLOPT_TCP_KEEPALIVE, 1L) &&
        set(CURLOPT_HEADERFUNCTION, &Transfer::on_header) && set(CURLOPT_HEADERDATA, this) &&
        set(CURLOPT_WRITEFUNCTION, &Transfer::on_body) && set(CURLOPT_WRITEDATA, this) &&
        set(CURLOPT_ERRORBUFFER, error_text_.data());
    if (request_.method == HttpMethod::Post)
        good = good && set(CURLOPT_POST, 1L) && set(CURLOPT_POSTFIELDS, request_.body.data()) &&
               set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request_.body.size()));
    if (request_.may_connect)
        good = good && set(CURLOPT_OPENSOCKETFUNCTION, &Transfer::on_open) &&
               set(CURLOPT_OPENSOCKETDATA, this);
    for (const auto& entry : options.resolved)
        resolved_list_ = curl_slist_append(resolved_list_, entry.c_str());
    if (resolved_list_) good = good && set(CURLOPT_RESOLVE, resolved_list_);
    // Cancelling must not wait for a name server.
    good = good && set(CURLOPT_QUICK_EXIT, 1L);
    if (options.proxy) good = good && set(CURLOPT_PROXY, options.proxy->c_str());
    if (!options.ca_file.empty()) good = good && set(CURLOPT_CAINFO, options.ca_file.c_str());
    return good;
}

void HttpClient::Core::Transfer::start_timers() {
    if (request_.timeouts.total)
        total_timer_ = expire_after(*request_.timeouts.total, "no complete response");
    arm_phase(request_.timeouts.first_byte, "no response headers");
}

void HttpClient::Core::Transfer::release() {
    if (!core_) return;
    loop_.cancel(std::exchange(total_timer_, base::Loop::TimerHandle::None));
    loop_.cancel(std::exchange(phase_timer_, base::Loop::TimerHandle::None));
    if (easy_) curl_easy_cleanup(std::exchange(easy_, nullptr));
    curl_slist_free_all(std::exchange(header_list_, nullptr));
    curl_slist_free_all(std::exchange(resolved_list_, nullptr));
    core_.reset();
}

std::size_t HttpClient::Core::Transfer::on_header(char* data, std::size_t size, std::size_t count,
                                                  void* self) {
    const std::string_view line(data, size * count);
    return static_cast<Transfer*>(self)->take_header(line) ? line.size() : 0;
}

std::size_t HttpClient::Core::Transfer::on_body(char* data, std::size_t size, std::size_t count,
                                                void* self) {
    const std::string_view chunk(data, size * count);
    return static_cast<Transfer*>(self)->take_body(chunk) ? chunk.size() : 0;
}

curl_socket_t HttpClient::Core::Transfer::on_open(void* self, curlsocktype /*purpose*/,
                                                  curl_sockaddr* address) {
    if (!static_cast<Transfer*>(self)->request_.may_connect(address->addr)) return CURL_SOCKET_BAD;
    return ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

bool HttpClient::Core::Transfer::take_header(std::string_view line) {
    if (cancelled_) return false;
    header_bytes_ += line.size();
    if (header_bytes_ > request_.header_bytes_max) {
        failure_ = too_large_failure("header", request_.header_bytes_max, progress());
        return false;
    }
    line = base::trim(line);
    if (line.starts_with("HTTP/")) {  // Also the one after a 1xx.
        response_.headers.clear();
    } else if (line.empty()) {
        long status = 0;
        curl_easy_getinfo(easy_, CURLINFO_RESPONSE_CODE, &status);
        if (status < 200) return true;
        response_.status = status;
        headers_complete_ = true;
        arm_phase(request_.timeouts.idle, "no data");
        if (request_.on_head)
            loop_.post([self = shared_from_this(),
                        head = HttpResponse{.status = status, .headers = response_.headers}] {
                if (!self->cancelled_) self->request_.on_head(head);
            });
    } else if (const std::size_t colon = line.find(':'); colon != line.npos) {
        response_.headers.push_back({std::string(base::trim(line.substr(0, colon))),
                                     std::string(base::trim(line.substr(colon + 1)))});
    }
    return true;
}

bool HttpClient::Core::Transfer::take_body(std::string_view chunk) {
    if (cancelled_) return false;
    const std::size_t room = request_.body_bytes_max - body_bytes_;
    if (chunk.size() > room && request_.cut_body && !on_chunk_) {
        response_.body += chunk.substr(0, room);
        response_.is_cut = true;
        return false;
    }
    body_bytes_ += chunk.size();
    if (body_bytes_ > request_.body_bytes_max) {
        failure_ = too_large_failure("body", request_.body_bytes_max, progress());
        return false;
    }
    arm_phase(request_.timeouts.idle, "no data");
    const bool is_success = response_.status >= 200 && response_.status < 300;
    if (!on_chunk_ || !is_success) {
        response_.body += chunk;
        return true;
    }
    loop_.post([self = shared_from_this(), text = std::string(chunk)] {
        if (!self->cancelled_) self->on_chunk_(text);
    });
    return true;
}

bool HttpClient::Core::open() {
    if (multi_) return true;
    if (!curl_is_ready()) return false;
    multi_ = curl_multi_init();
    if (!multi_) return false;
    curl_multi_setopt(multi_, CURLMOPT_SOCKETFUNCTION, &Core::on_socket);
    curl_multi_setopt(multi_, CURLMOPT_SOCKETDATA, this);
    curl_multi_setopt(multi_, CURLMOPT_TIMERFUNCTION, &Core::on_timer);
    curl_multi_setopt(multi_, CURLMOPT_TIMERDATA, this);
    curl_multi_setopt(multi_, CURLMOPT_MAXCONNECTS, kIdleConnectionsMax);
    return true;
}

void HttpClient::Core::start(const std::shared_ptr<Transfer>& transfer) {
    Failure failure{.kind = FailureKind::Unknown, .message = "the HTTP client could not start"};
    if (closed_) {
        failure = cancelled_failure(transfer->progress());
    } else if (const std::string refusal = transfer->refusal(); !refusal.empty()) {
        failure = {.kind = FailureKind::ContractError, .message = refusal};
    } else if (open() && transfer->prepare(options_)) {
        transfer->start_timers();
        transfers_.emplace(transfer->easy(), transfer);
        if (curl_multi_add_handle(multi_, transfer->easy()) == CURLM_OK) return;
        transfers_.erase(transfer->easy());
    }
    transfer->release();
    transfer->deliver(std::unexpected(std::move(failure)));
}

void HttpClient::Core::end(const std::shared_ptr<Transfer>& transfer, HttpOutcome outcome) {
    if (transfers_.erase(transfer->easy()) == 0) return;
    const auto alive = shared_from_this();  // The transfer may hold the last reference.
    // On a transfer that is not complete this closes its connection; curl says so by on_socket().
    curl_multi_remove_handle(multi_, transfer->easy());
    transfer->release();
    transfer->deliver(std::move(outcome));
}

void HttpClient::Core::shut_down() {
    if (std::exchange(closed_, true)) return;
    loop_.cancel(std::exchange(timer_, base::Loop::TimerHandle::None));
    for (const auto& [easy, transfer] : std::exchange(transfers_, {})) {
        curl_multi_remove_handle(multi_, easy);
        auto failure = cancelled_failure(transfer->progress());
        transfer->release();
        transfer->deliver(std::unexpected(std::move(failure)));
    }
    if (multi_) curl_multi_cleanup(std::exchange(multi_, nullptr));
    loop_.cancel(std::exchange(timer_, base::Loop::TimerHandle::None));
    for (const auto& [socket, watch] : std::exchange(watches_, {})) watch->descriptor.close();
}

void HttpClient::Core::socket_action(curl_socket_t socket, int events) {
    if (closed_) return;
    int running = 0;
    curl_multi_socket_action(multi_, socket, events, &running);
    collect_finished();
}

void HttpClient::Core::collect_finished() {
    int left = 0;
    while (const CURLMsg* message = curl_multi_info_read(multi_, &left)) {
        if (message->msg != CURLMSG_DONE) continue;
        const CURLcode code = message->data.result;  // `message` dies with the handle.
        const auto found = transfers_.find(message->easy_handle);
        if (found == transfers_.end()) continue;
        const auto transfer = found->second;
        end(transfer, transfer->outcome_of(code));
    }
}

int HttpClient::Core::on_timer(CURLM*, long timeout_ms, void* data) {
    auto& core = *static_cast<Core*>(data);
    core.loop_.cancel(std::exchange(core.timer_, base::Loop::TimerHandle::None));
    if (timeout_ms < 0 || core.closed_) return 0;
    core.timer_ =
        core.loop_.after(std::chrono::milliseconds(timeout_ms), [weak = core.weak_from_this()] {
            if (const auto self = weak.lock()) self->socket_action(CURL_SOCKET_TIMEOUT, 0);
        });
    return 0;
}

int HttpClient::Core::on_socket(CURL*, curl_socket_t socket, int wanted, void* core, void*) {
    static_cast<Core*>(core)->watch(socket, wanted);
    return 0;
}

void HttpClient::Core::watch(curl_socket_t socket, int wanted) {
    auto found = watches_.find(socket);
    if (wanted == CURL_POLL_REMOVE) {
        if (found == watches_.end()) return;
        found->second->wanted = CURL_POLL_NONE;
        boost::system::error_code ignored;
        found->second->descriptor.close(ignored);
        watches_.erase(found);
        return;
    }
    if (closed_) return;
    if (found == watches_.end()) {
        const int copy = fcntl(socket, F_DUPFD_CLOEXEC, 0);
        if (copy < 0) return;  // Out of descriptors: the deadlines end the request.
        found = watches_.emplace(socket, std::make_shared<Watch>(loop_.context(), copy)).first;
    }
    found->second->wanted = wanted;
    arm(socket, found->second);
}

void HttpClient::Core::arm(curl_socket_t socket, const std::shared_ptr<Watch>& watch) {
    using Descriptor = asio::posix::stream_descriptor;
    const auto wait = [&](Descriptor::wait_type type, bool Watch::* waiting, int event) {
        if (watch.get()->*waiting) return;
        watch.get()->*waiting = true;
        watch->descriptor.async_wait(
            type, [weak = weak_from_this(), socket, watch, waiting, event](auto error) {
                watch.get()->*waiting = false;
                const auto self = weak.lock();
                if (!error && self) self->on_ready(socket, watch, event);
            });
    };
    if (watch->wanted & CURL_POLL_IN) wait(Descriptor::wait_read, &Watch::reading, CURL_CSELECT_IN);
    if (watch->wanted & CURL_POLL_OUT)
        wait(Descriptor::wait_write, &Watch::writing, CURL_CSELECT_OUT);
}

void HttpClient::Core::on_ready(curl_socket_t socket, const std::shared_ptr<Watch>& watch,
                                int event) {
    const int poll = event == CURL_CSELECT_IN ? CURL_POLL_IN : CURL_POLL_OUT;
    if (!(watch->wanted & poll)) return;  // No longer asked for; arm() again when it is.
    socket_action(socket, event);
    const auto found = watches_.find(socket);
    if (found != watches_.end() && found->second == watch) arm(socket, watch);
}

HttpClient::HttpClient(base::AsioLoop& loop, HttpOptions options)
    : core_(std::make_shared<Core>(loop, std::move(options))) {}

HttpClient::~HttpClient() {
    core_->shut_down();
}

void HttpClient::warm_up() {
    curl_is_ready();
}

base::Loop& HttpClient::loop() {
    return core_->loop();
}

HttpSender HttpClient::sender() {
    return HttpSender(core_);
}

std::shared_ptr<Exchange> HttpClient::send(HttpRequest request, ChunkHandler on_chunk,
                                           std::move_only_function<void(HttpOutcome)> done) {
    return sender().send(std::move(request), std::move(on_chunk), std::move(done));
}

base::Loop& HttpSender::loop() {
    return core_->loop();
}

std::shared_ptr<Exchange> HttpSender::send(HttpRequest request, ChunkHandler on_chunk,
                                           std::move_only_function<void(HttpOutcome)> done) {
    auto transfer = std::make_shared<HttpClient::Core::Transfer>(
        core_, std::move(request), std::move(on_chunk), std::move(done));
    core_->start(transfer);
    return transfer;
}

}  // namespace provider
