// Boost.Beast as this folder uses it. At most four files include it: each costs many seconds.
#pragma once

#define BOOST_BEAST_SEPARATE_COMPILATION

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/basic_stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl/ssl_stream.hpp>

namespace http_surface {

namespace net = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;

// One type for TCP and Unix sockets, so that there is one connection class.
using Stream = beast::basic_stream<net::generic::stream_protocol, net::io_context::executor_type>;
using TlsStream = beast::ssl_stream<Stream>;

}  // namespace http_surface
