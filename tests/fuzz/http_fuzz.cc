// Whatever a client sends, it becomes a request that makes sense or a refusal in JSON.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/text.h"
#include "surfaces/http/api/bodies.h"
#include "surfaces/http/api/handlers.h"
#include "surfaces/http/server/access.h"
#include "surfaces/http/server/router.h"

namespace {

using namespace http_surface;

void require(bool condition) {
    if (!condition) std::abort();
}

void route(std::string_view path) {
    for (const auto method : {Method::Get, Method::Head, Method::Post, Method::Other}) {
        const auto found = match(routes(), method, path);
        if (const auto* matched = std::get_if<Matched>(&found))
            for (const auto& [name, value] : matched->params)
                require(!value.empty() && base::is_utf8(value));
        if (const auto* wrong = std::get_if<WrongMethod>(&found)) require(!wrong->allow.empty());
    }
}

void query(std::string_view text) {
    const auto parsed = parse_query(text);
    if (!parsed) {
        require(!parsed.error().message.empty() && base::is_utf8(parsed.error().message));
        return;
    }
    require(parsed->size() <= kQueryKeysMax);
    const Request request{.query = *parsed};
    if (const auto number = number_of(request, "limit", 1)) require(*number >= 0);
}

template <class T>
void body(const Request& request) {
    for (const auto unknown : {base::Unknown::Ignore, base::Unknown::Reject}) {
        const auto decoded = body_of<T>(request, unknown);
        if (decoded) continue;
        const auto answer = error_response(decoded.error());
        require(answer.status >= 400 && answer.status < 500);
        require(base::parse_json(answer.body).has_value());
    }
}

void host(std::string_view text) {
    const auto name = host_of(text);
    require(name.find(':') == std::string::npos || text.starts_with('['));
    // No name of another site may pass for this machine.
    if (is_loopback(name))
        require(name == "localhost" || name.ends_with(".localhost") || name == "::1" ||
                name.find_first_not_of("0123456789.") == std::string::npos);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const std::string_view rest(reinterpret_cast<const char*>(data + 1), size - 1);
    const Request request{.head = {.content_type = "application/json"}, .body = std::string(rest)};
    switch (data[0] % 6) {
        case 0:
            route(rest);
            break;
        case 1:
            query(rest);
            break;
        case 2:
            body<EnqueueBody>(request);
            break;
        case 3:
            body<TaskBody>(request);
            break;
        case 4:
            body<ControlBody>(request);
            break;
        default:
            host(rest);
    }
    return 0;
}
