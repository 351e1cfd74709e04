#include "app/fetch.h"

#include "base/os/asio_loop.h"
#include "provider/http/http_client.h"

namespace app {
namespace {

constexpr std::chrono::seconds kFetchTimeout{30};

provider::HttpRequest request_for(const std::string& url) {
    provider::HttpRequest request{.url = url, .method = provider::HttpMethod::Get};
    request.headers = {{"Accept", "application/vnd.github+json"},
                       {"User-Agent", "holon/" HOLON_VERSION}};
    request.timeouts.connect = request.timeouts.first_byte = request.timeouts.idle = kFetchTimeout;
    request.timeouts.total = kFetchTimeout;
    request.body_bytes_max = skills::kAnswerBytesMax;
    return request;
}

}  // namespace

skills::Fetch fetch_of(const config::Config& config) {
    return [options = provider::HttpOptions{.ca_file = config.tls_ca_file}](
               const std::string& url) -> base::Result<skills::Fetched> {
        base::AsioLoop loop;
        provider::HttpClient client(loop, options);
        std::optional<provider::HttpOutcome> outcome;
        const auto exchange = client.send(request_for(url), {}, [&](provider::HttpOutcome got) {
            outcome = std::move(got);
            loop.stop();
        });
        loop.run();
        if (!*outcome)
            return base::fail(base::ErrorCode::Unavailable, "{} could not be fetched: {}",
                              provider::public_url(url), outcome->error().message);
        return skills::Fetched{(*outcome)->status, std::move((*outcome)->body)};
    };
}

}  // namespace app
