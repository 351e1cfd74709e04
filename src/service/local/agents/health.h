// Does the runtime do its work: do writes succeed, and is the database sound?
#pragma once

#include <chrono>
#include <mutex>
#include <optional>
#include <string>

#include "base/time.h"
#include "service/local/agents/transactions.h"

namespace service {

// Probes are at least this far apart; in between the last answer holds.
inline constexpr std::chrono::seconds kProbePause{1};

// Any thread may use one. The references are the service's and outlive this.
class Health {
public:
    Health(Transactions& transactions, base::Clock& clock)
        : transactions_(transactions), clock_(clock) {}

    // Writes a row that means nothing and reads the store. Unavailable, with the reason, while
    // either fails (a full, read-only or locked disk), and while damage is reported. Blocks.
    base::Status check();

    // A write has failed: the runtime is not ready until a probe succeeds, which is made at the
    // earliest after kProbePause.
    void report_fault(const base::Error& error);

    // What a check of the database found; empty: it is sound.
    void report_damage(std::string damage);

private:
    base::Status probe();
    // The last answer, while it holds.
    std::optional<base::Status> last_answer();

    Transactions& transactions_;
    base::Clock& clock_;
    std::mutex probing_;  // One probe at a time.
    std::mutex mutex_;    // Of the rest.
    std::optional<base::Time> probed_at_;
    base::Status probed_;
    std::string damage_;
};

}  // namespace service
