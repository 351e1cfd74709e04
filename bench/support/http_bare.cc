#include "bench/support/http_bare.h"

#include <thread>

#include <boost/asio/detached.hpp>

#include "surfaces/http/server/beast.h"

namespace bench {
namespace {

namespace net = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using Tcp = net::ip::tcp;
constexpr auto kResult = net::as_tuple(net::use_awaitable);

net::awaitable<void> serve(Tcp::socket socket, const std::string* body) {
    socket.set_option(Tcp::no_delay(true));
    beast::flat_buffer buffer;
    for (;;) {
        http::request<http::string_body> request;
        const auto [unread, in] = co_await http::async_read(socket, buffer, request, kResult);
        if (unread) co_return;
        http::response<http::string_body> response(http::status::ok, 11);
        response.set(http::field::content_type, "application/json");
        response.body() = *body;
        response.prepare_payload();
        const auto [unsent, out] = co_await http::async_write(socket, response, kResult);
        if (unsent) co_return;
    }
}

class Bare final : public BareServer {
public:
    explicit Bare(std::string body)
        : body_(std::move(body)),
          acceptor_(context_, Tcp::endpoint(net::ip::address_v4::loopback(), 0)) {
        net::co_spawn(context_, accept(), net::detached);
        thread_ = std::jthread([this] { context_.run(); });
    }
    ~Bare() override { context_.stop(); }
    std::uint16_t port() const override { return acceptor_.local_endpoint().port(); }

private:
    net::awaitable<void> accept() {
        for (;;) {
            auto [error, socket] = co_await acceptor_.async_accept(kResult);
            if (error) co_return;
            net::co_spawn(context_, serve(std::move(socket), &body_), net::detached);
        }
    }

    std::string body_;
    net::io_context context_{1};
    Tcp::acceptor acceptor_;
    std::jthread thread_;
};

}  // namespace

std::unique_ptr<BareServer> serve_bare(std::string body) {
    return std::make_unique<Bare>(std::move(body));
}

}  // namespace bench
