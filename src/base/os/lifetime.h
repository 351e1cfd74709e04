// Callbacks that outlive their object do nothing.
#pragma once

#include <memory>
#include <utility>

namespace base {

// A member of an object that hands out callbacks. A guarded callback runs only while the object
// exists. Used on one thread, the one that destroys the object; declare it as the last member, so
// that it ends first.
class Lifetime {
public:
    using Watch = std::weak_ptr<void>;

    // Expires with the object.
    Watch watch() const { return token_; }

    // `callback`, but nothing once the object is gone. It may capture the object by reference.
    template <class F>
    auto guard(F callback) const {
        return [watch = watch(), callback = std::move(callback)](auto&&... args) mutable {
            if (!watch.expired()) callback(std::forward<decltype(args)>(args)...);
        };
    }

private:
    std::shared_ptr<void> token_{std::make_shared<char>()};
};

}  // namespace base
