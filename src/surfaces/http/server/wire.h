// The bytes of one connection, plain or through TLS.
//
// What reads and writes requests uses this one type, so that the library's templates are made once:
// a connection class for each kind of stream took longer to compile than any other file.
#pragma once

#include <span>
#include <variant>

#include "surfaces/http/server/beast.h"

namespace http_surface {

// Used on the loop only, with one read and one write at a time. Each wait ends with an error at the
// time that lowest().expires_after() has set.
class Wire {
public:
    // With `tls`, open() has to come first, and close() before the connection is shut down.
    Wire(Stream stream, net::ssl::context* tls);

    // The socket and its time limit.
    Stream& lowest();

    net::awaitable<beast::error_code> open();
    net::awaitable<void> close();

    struct Read {
        beast::error_code error;
        std::size_t bytes{0};
    };
    // At least one byte, or an error; the end of the stream is one.
    net::awaitable<Read> read_some(net::mutable_buffer into);
    // All bytes, or an error. They must stay where they are until then.
    net::awaitable<beast::error_code> write(std::span<const net::const_buffer> parts);

private:
    TlsStream* tls();

    std::variant<Stream, TlsStream> stream_;
};

}  // namespace http_surface
