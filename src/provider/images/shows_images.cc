#include "provider/images/shows_images.h"

#include <algorithm>
#include <set>

#include "base/hash.h"
#include "base/log/log.h"
#include "base/os/fs/open_path.h"
#include "base/scan/engine/encodings.h"
#include "provider/images/shown.h"

namespace provider {

struct ShowsImages::Memory {
    std::set<std::string> taken;
    std::set<std::string> refused;

    static void add(std::set<std::string>& list, const std::string& digest) {
        if (list.size() >= kRememberedImagesMax) list.clear();
        list.insert(digest);
    }
};

namespace {

using Images = decltype(Request::images);

// The images of `wanted` that are as they were when they were recorded. Reads files.
Images load(const std::filesystem::path& folder, const std::vector<domain::Media>& wanted) {
    Images images;
    for (const auto& image : wanted) {
        // A record that was damaged names no other file.
        const bool is_name = std::filesystem::path(image.file).filename() == image.file;
        if (images.contains(image.sha256) || !is_name || image.bytes <= 0 ||
            image.bytes > kRequestImageBytesMax)
            continue;
        const auto bytes =
            base::read_file_beneath(folder, image.file, static_cast<std::size_t>(image.bytes));
        if (bytes && base::sha256_hex(*bytes) == image.sha256)
            images.emplace(image.sha256, std::make_shared<const std::string>(scan::base64(*bytes)));
    }
    return images;
}

bool may_refuse_images(const Failure& failure) {
    return failure.kind == FailureKind::ContractError &&
           (failure.status == 400 || failure.status == 413 || failure.status == 422);
}

// Owned by the callback it waits for: that of the background, or of the inner provider.
class ImageExchange final : public Exchange, public std::enable_shared_from_this<ImageExchange> {
public:
    ImageExchange(std::shared_ptr<Provider> inner, std::shared_ptr<ShowsImages::Memory> memory,
                  Request request, Progress progress, std::move_only_function<void(Outcome)> done)
        : inner_(std::move(inner)),
          memory_(std::move(memory)),
          request_(std::move(request)),
          progress_(std::move(progress)),
          done_(std::move(done)) {}

    void start(base::Loop& loop) {
        std::vector<domain::Media> wanted;
        for (const auto* answer : answers_with_media(request_))
            for (const auto& image : *answer->media)
                if (!memory_->refused.contains(image.sha256)) wanted.push_back(image);
        auto loaded = std::make_shared<Images>();
        loop.offload([loaded, wanted = std::move(wanted),
                      folder = request_.media_folder] { *loaded = load(folder, wanted); },
                     [self = shared_from_this(), loaded] {
                         self->request_.images = std::move(*loaded);
                         self->ask();
                     });
    }

    void cancel() override {
        if (!done_) return;
        is_cancelled_ = true;
        if (const auto asked = asked_.lock()) asked->cancel();
    }

private:
    void ask() {
        if (is_cancelled_)
            return finish(std::unexpected(
                Failure{.kind = FailureKind::Cancelled, .message = "the request was cancelled"}));
        asked_ = inner_->ask(request_, progress_, [self = shared_from_this()](Outcome outcome) {
            self->settle(std::move(outcome));
        });
    }

    void settle(Outcome outcome) {
        asked_.reset();
        if (!outcome && !is_cancelled_ && !request_.images.empty() &&
            may_refuse_images(outcome.error())) {
            refused_ = std::exchange(request_.images, {});
            refusal_ = std::move(outcome).error();
            return ask();
        }
        if (outcome) {
            remember();
            outcome->request_diagnostics["images_sent"] = request_.images.size();
        } else if (!refused_.empty() && may_refuse_images(outcome.error())) {
            outcome = std::unexpected(std::move(refusal_));  // The images were not what is wrong.
        }
        finish(std::move(outcome));
    }

    void remember() {
        for (const auto& [digest, image] : request_.images)
            ShowsImages::Memory::add(memory_->taken, digest);
        if (refused_.empty()) return;
        const bool has_new = std::ranges::any_of(
            refused_, [&](const auto& image) { return !memory_->taken.contains(image.first); });
        for (const auto& [digest, image] : refused_)
            if (!has_new || !memory_->taken.contains(digest))
                ShowsImages::Memory::add(memory_->refused, digest);
        base::log_warn("{} refused a request with images and took it without them: {}",
                       request_.model_ref, refusal_.message);
    }

    void finish(Outcome outcome) {
        progress_ = nullptr;  // The callbacks may hold this; both are released.
        std::exchange(done_, nullptr)(std::move(outcome));
    }

    std::shared_ptr<Provider> inner_;
    std::shared_ptr<ShowsImages::Memory> memory_;
    Request request_;
    Progress progress_;
    std::move_only_function<void(Outcome)> done_;
    Images refused_;   // Of the request that was refused.
    Failure refusal_;  // The answer to it.
    bool is_cancelled_{false};
    std::weak_ptr<Exchange> asked_;  // Weak, as it holds this in its callback.
};

}  // namespace

ShowsImages::ShowsImages(std::shared_ptr<Provider> inner, base::Loop& loop)
    : inner_(std::move(inner)), loop_(loop), memory_(std::make_shared<Memory>()) {}

std::shared_ptr<Exchange> ShowsImages::ask(Request request, Progress progress,
                                           std::move_only_function<void(Outcome)> done) {
    bound_media(request);
    if (answers_with_media(request).empty())
        return inner_->ask(std::move(request), std::move(progress), std::move(done));
    auto exchange = std::make_shared<ImageExchange>(inner_, memory_, std::move(request),
                                                    std::move(progress), std::move(done));
    exchange->start(loop_);
    return exchange;
}

}  // namespace provider
