// The journals of plan runs, followed live. Each reader reads pages at its own pace and holds one
// at most; runs have few readers, so nothing is shared between them.
#pragma once

#include <deque>
#include <functional>

#include "service/plans.h"
#include "surfaces/http/live/bell.h"
#include "surfaces/http/live/frame_stream.h"
#include "surfaces/http/server/exchange.h"

namespace http_surface {

inline constexpr std::int64_t kRunPageRecords = 128;

// "id: 42\nevent: call\ndata: {the line}\n\n"
std::string encode_record(const domain::PlanRecord& record);

// All members on the loop's thread. `submit` runs a task on a thread that may block.
class RunStreams {
public:
    using Submit = std::function<void(base::Job)>;
    RunStreams(service::Plans* plans, base::Loop& loop, Submit submit);
    ~RunStreams();  // All streams are gone by then.

    // The lines after `follow.after_seq`, until the run has ended. `wake` must return at once.
    std::unique_ptr<FrameStream> subscribe(const FollowRun& follow, std::function<void()> wake);

private:
    class Reader;
    service::Plans* plans_;
    Submit submit_;
    std::shared_ptr<Bell> bell_;
};

}  // namespace http_surface
