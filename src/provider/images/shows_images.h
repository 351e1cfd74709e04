// Images for a model that takes them.
#pragma once

#include <memory>

#include "base/os/loop.h"
#include "provider/provider.h"

namespace provider {

// Digests of images that a server has taken, and of those that it refused; more are forgotten.
inline constexpr std::size_t kRememberedImagesMax = 512;

// Asks `inner` with the images of the conversation: their files are read in the background, and an
// image whose file is gone or has changed is left out. A request without images is passed on as it
// is. When the server refuses a request with images (HTTP 400, 413 or 422), it is asked once more
// without them; if that succeeds, the images that it had not taken before are not sent again.
class ShowsImages final : public Provider {
public:
    // `loop` must outlive every exchange.
    ShowsImages(std::shared_ptr<Provider> inner, base::Loop& loop);
    std::shared_ptr<Exchange> ask(Request request, Progress progress,
                                  std::move_only_function<void(Outcome)> done) override;

    struct Memory;  // Of what the server took.

private:
    std::shared_ptr<Provider> inner_;
    base::Loop& loop_;
    std::shared_ptr<Memory> memory_;
};

}  // namespace provider
