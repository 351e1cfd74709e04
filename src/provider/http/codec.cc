#include "provider/http/codec.h"

#include "base/text.h"

namespace provider {
namespace {

class PlainDecoder final : public Decoder {
public:
    PlainDecoder(Outcome (*decode)(const HttpResponse&, base::Time),
                 std::unique_ptr<EventReader> events)
        : decode_(decode), events_(std::move(events)) {}

    Outcome decode(const HttpResponse& response, base::Time now) override {
        return decode_(response, now);
    }
    EventReader* events() override { return events_.get(); }

private:
    Outcome (*decode_)(const HttpResponse&, base::Time);
    std::unique_ptr<EventReader> events_;
};

}  // namespace

std::unique_ptr<Decoder> make_decoder(Outcome (*decode)(const HttpResponse&, base::Time),
                                      std::unique_ptr<EventReader> events) {
    return std::make_unique<PlainDecoder>(decode, std::move(events));
}

std::string trimmed_credential(const std::optional<std::string>& credential) {
    return credential ? std::string(base::trim(*credential)) : "";
}

HttpHeader bearer(std::string_view token) {
    return {"Authorization", fmt::format("Bearer {}", token)};
}

}  // namespace provider
