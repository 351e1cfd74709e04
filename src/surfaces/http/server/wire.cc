#include "surfaces/http/server/wire.h"

namespace http_surface {
namespace {

constexpr auto kResult = net::as_tuple(net::use_awaitable);

}  // namespace

Wire::Wire(Stream stream, net::ssl::context* tls)
    : stream_(tls ? std::variant<Stream, TlsStream>(std::in_place_type<TlsStream>,
                                                    std::move(stream), *tls)
                  : std::variant<Stream, TlsStream>(std::move(stream))) {}

TlsStream* Wire::tls() {
    return std::get_if<TlsStream>(&stream_);
}

Stream& Wire::lowest() {
    return tls() ? tls()->next_layer() : std::get<Stream>(stream_);
}

net::awaitable<beast::error_code> Wire::open() {
    if (!tls()) co_return beast::error_code{};
    const auto [error] = co_await tls()->async_handshake(net::ssl::stream_base::server, kResult);
    co_return error;
}

net::awaitable<void> Wire::close() {
    if (tls()) co_await tls()->async_shutdown(kResult);
}

net::awaitable<Wire::Read> Wire::read_some(net::mutable_buffer into) {
    const auto [error, bytes] = tls() ? co_await tls()->async_read_some(into, kResult)
                                      : co_await lowest().async_read_some(into, kResult);
    co_return Read{error, bytes};
}

net::awaitable<beast::error_code> Wire::write(std::span<const net::const_buffer> parts) {
    const auto [error, bytes] = tls() ? co_await net::async_write(*tls(), parts, kResult)
                                      : co_await net::async_write(lowest(), parts, kResult);
    co_return error;
}

}  // namespace http_surface
