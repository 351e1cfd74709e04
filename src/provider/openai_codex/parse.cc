#include "provider/http/received.h"
#include "provider/openai_codex/wire.h"
#include "provider/wire/openai_error.h"
#include "provider/wire/received_json.h"

namespace provider::openai_codex {

Failure parse_refusal(const HttpResponse& response, base::Time now) {
    const auto document = parse_received_json(response.body);
    const auto* error = document ? error_in(*document, false) : nullptr;
    const FailureKind kind =
        error ? kind_of_openai_error(response.status, *error) : kind_without_error(response.status);
    return status_failure(response, kind, error, now);
}

}  // namespace provider::openai_codex
