#include "base/scan/engine/matcher.h"

#include <re2/re2.h>

#include <algorithm>
#include <deque>
#include <limits>
#include <mutex>

#include "base/scan/engine/engine.h"

namespace scan {

using base::ErrorCode;
using base::fail;

namespace {

// Vectorscan counts the bytes of one call in 32 bits.
constexpr std::size_t kPieceBytesMax = std::size_t{1} << 30;
// Scratch that is kept for the next texts, 150 KB each.
constexpr std::size_t kSpareMax = 4;
constexpr std::uint64_t kNone = std::numeric_limits<std::uint64_t>::max();

struct FreeScratch {
    void operator()(hs_scratch_t* scratch) const { hs_free_scratch(scratch); }
};
using Scratch = std::unique_ptr<hs_scratch_t, FreeScratch>;

// What an expression is to RE2: its end is where Vectorscan said, its first group is the value.
std::unique_ptr<re2::RE2> bounds_of(const std::string& expression) {
    re2::RE2::Options options;
    options.set_encoding(re2::RE2::Options::EncodingLatin1);
    options.set_log_errors(false);
    return std::make_unique<re2::RE2>("(?:" + expression + ")\\z", options);
}

class Expression {
public:
    Expression(const Sought& sought, std::size_t width)
        : width(width),
          wanted(sought.wanted),
          has_ending(sought.ending.has_value()),
          text_(sought.expression) {}

    // Built at the first end that is reported: most expressions never match while we live.
    const re2::RE2& bounds() {
        std::call_once(once_, [this] { bounds_ = bounds_of(text_); });
        return *bounds_;
    }

    const std::size_t width;  // The most bytes it matches, with one of context before it.
    const Wanted wanted;
    const bool has_ending;

private:
    std::string text_;
    std::once_flag once_;
    std::unique_ptr<re2::RE2> bounds_;
};
using Expressions = std::deque<Expression>;

base::Result<Engine> checked_engine(const std::vector<Sought>& sought) {
    auto engine = TRY(build_engine(sought, Platform::Native));
    for (const auto& one : sought)
        if (const auto bounds = bounds_of(one.expression); !bounds->ok())
            return fail(ErrorCode::InvalidInput, "the expression of {} cannot be used: {}",
                        one.name, bounds->error());
    return engine;
}

}  // namespace

struct Matcher::Engines {
    Expressions expressions;
    std::vector<Sought> sought;
    Database block;
    Scratch scratch;
    std::mutex spare_mutex;
    std::vector<Scratch> spare;
    std::size_t width_max{0};
    // Most programs never read a stream, and the database for it takes as long as the other.
    std::once_flag stream_once;
    Database stream;

    // Scratch for a whole text, from those that others gave back: to allocate one takes longer than
    // to scan a line.
    Scratch borrow() {
        const std::scoped_lock lock(spare_mutex);
        if (spare.empty()) return cloned();
        Scratch own = std::move(spare.back());
        spare.pop_back();
        return own;
    }
    void give_back(Scratch own) {
        const std::scoped_lock lock(spare_mutex);
        if (spare.size() < kSpareMax) spare.push_back(std::move(own));
    }

    Scratch cloned() const {
        hs_scratch_t* own = nullptr;
        CHECK(hs_clone_scratch(scratch.get(), &own) == HS_SUCCESS, "there is memory to scan with");
        return Scratch(own);
    }

    Scratch scratch_for_streams() {
        hs_scratch_t* own = cloned().release();
        CHECK(hs_alloc_scratch(for_streams(), &own) == HS_SUCCESS, "there is memory to scan with");
        return Scratch(own);
    }

    // Built from expressions that were accepted for whole texts, so it cannot be refused.
    const hs_database_t* for_streams() {
        std::call_once(stream_once, [this] {
            auto made = build_database(sought, HS_MODE_STREAM, Platform::Native);
            CHECK(made.has_value(), "what is matched in a text is matched in a stream");
            stream = std::move(*made);
        });
        return stream.get();
    }
};

namespace {

// Collects the ends that Vectorscan reports and has RE2 check what is before each. Expressions with
// a repeat at their end are reported at byte after byte; only the last of such a run is checked.
class Collector {
public:
    Collector(Expressions& expressions, const VisitMatch& visit)
        : expressions_(expressions), visit_(visit), ends_(expressions.size(), kNone) {}

    // The bytes that ends up to now may point into: `before` and then `text`, which is at `offset`.
    void show(std::string_view before, std::string_view text, std::uint64_t offset) {
        before_ = before;
        text_ = text;
        offset_ = offset;
    }

    static int on_match(unsigned id, unsigned long long /*from*/, unsigned long long to,
                        unsigned /*flags*/, void* self) {
        static_cast<Collector*>(self)->add(id, to);
        return 0;
    }

    // Checks open matches; the bytes are not valid after this.
    void settle() {
        for (const std::size_t id : open_) check(id, std::exchange(ends_[id], kNone));
        open_.clear();
    }

private:
    void add(std::size_t id, std::uint64_t end) {
        if (expressions_[id].wanted == Wanted::End) {
            visit_({id, end, end, {}});
            return;
        }
        // The last of a run of endings need not be the one that a match has.
        if (expressions_[id].has_ending) {
            check(id, end);
            return;
        }
        if (ends_[id] == kNone)
            open_.push_back(id);
        else if (end > ends_[id] + 1)
            check(id, ends_[id]);
        ends_[id] = end;
    }

    void check(std::size_t id, std::uint64_t end) {
        Expression& expression = expressions_[id];
        const re2::RE2& bounds = expression.bounds();
        const std::uint64_t start = end > expression.width ? end - expression.width : 0;
        const std::string_view window = bytes(start, end);
        re2::StringPiece groups[2];
        const int wanted = bounds.NumberOfCapturingGroups() > 0 ? 2 : 1;
        if (!bounds.Match({window.data(), window.size()}, 0, window.size(), re2::RE2::UNANCHORED,
                          groups, wanted))
            return;
        const auto& group = wanted == 2 && groups[1].data() ? groups[1] : groups[0];
        const std::uint64_t begin =
            end - window.size() + static_cast<std::uint64_t>(group.data() - window.data());
        visit_({id, begin, begin + group.size(), {group.data(), group.size()}});
    }

    std::string_view bytes(std::uint64_t start, std::uint64_t end) {
        if (start >= offset_) return text_.substr(start - offset_, end - start);
        const std::uint64_t first = offset_ - before_.size();
        joined_.assign(before_.substr(std::max(start, first) - first));
        joined_.append(text_.substr(0, end > offset_ ? end - offset_ : 0));
        if (end < offset_) joined_.resize(joined_.size() - (offset_ - end));
        return joined_;
    }

    Expressions& expressions_;
    const VisitMatch& visit_;
    std::string_view before_, text_;
    std::uint64_t offset_{0};
    std::vector<std::uint64_t> ends_;  // By expression; kNone unless it is in open_.
    std::vector<std::size_t> open_;
    std::string joined_;
};

}  // namespace

Matcher::Matcher(std::unique_ptr<Engines> engines) : engines_(std::move(engines)) {}
Matcher::~Matcher() = default;
Matcher::Matcher(Matcher&&) noexcept = default;

base::Result<Matcher> Matcher::compile(std::vector<Sought> sought, std::string_view prepared) {
    auto engines = std::make_unique<Engines>();
    if (!sought.empty()) {
        if (hs_valid_platform() != HS_SUCCESS)
            return fail(ErrorCode::Unavailable,
                        "this processor lacks what Vectorscan needs (SSE4.2 on x86-64)");
        auto engine = load_engine(prepared, sought);
        if (!engine) engine = TRY(checked_engine(sought));
        for (std::size_t i = 0; i < sought.size(); ++i) {
            const std::size_t width = engine->widths[i] + 1;
            engines->expressions.emplace_back(sought[i], width);
            engines->width_max = std::max(engines->width_max, width + 1);
        }
        engines->block = std::move(engine->block);
        hs_scratch_t* scratch = nullptr;
        if (hs_alloc_scratch(engines->block.get(), &scratch) != HS_SUCCESS)
            return fail(ErrorCode::Unavailable, "there is no memory to scan with");
        engines->scratch.reset(scratch);
    }
    engines->sought = std::move(sought);
    return Matcher(std::move(engines));
}

base::Result<std::string> Matcher::prepare(const std::vector<Sought>& sought) {
    TRY(checked_engine(sought));
    return store_engine(TRY(build_engine(sought, Platform::Any)), sought);
}

std::size_t Matcher::width_max() const {
    return engines_->width_max;
}

void Matcher::find(std::string_view text, const VisitMatch& visit) const {
    if (engines_->expressions.empty() || text.empty()) return;
    if (text.size() > kPieceBytesMax) {
        Stream stream(*this, visit);
        stream.feed(text);
        stream.finish();
        return;
    }
    Scratch scratch = engines_->borrow();
    Collector collector(engines_->expressions, visit);
    collector.show({}, text, 0);
    hs_scan(engines_->block.get(), text.data(), static_cast<unsigned>(text.size()), 0,
            scratch.get(), Collector::on_match, &collector);
    engines_->give_back(std::move(scratch));
    collector.settle();
}

struct Matcher::Stream::State {
    State(Engines& engines, VisitMatch visitor)
        : visit(std::move(visitor)),
          keep(engines.width_max),
          collector(engines.expressions, visit),
          is_idle(engines.expressions.empty()) {
        if (is_idle) return;
        scratch = engines.scratch_for_streams();
        CHECK(hs_open_stream(engines.for_streams(), 0, &stream) == HS_SUCCESS,
              "there is memory to scan with");
    }

    void remember(std::string_view piece) {
        if (piece.size() >= keep) {
            before.assign(piece.substr(piece.size() - keep));
            return;
        }
        if (before.size() + piece.size() > keep)
            before.erase(0, before.size() + piece.size() - keep);
        before.append(piece);
    }

    VisitMatch visit;
    std::size_t keep;
    Collector collector;
    bool is_idle;
    Scratch scratch;
    hs_stream_t* stream{nullptr};
    std::string before;  // The last bytes before the next piece.
    std::uint64_t offset{0};
};

Matcher::Stream::Stream(const Matcher& matcher, VisitMatch visit)
    : state_(std::make_unique<State>(*matcher.engines_, std::move(visit))) {}

Matcher::Stream::~Stream() {
    if (state_->stream) hs_close_stream(state_->stream, nullptr, nullptr, nullptr);
}

void Matcher::Stream::feed(std::string_view piece) {
    while (!state_->is_idle && !piece.empty()) {
        const auto part = piece.substr(0, kPieceBytesMax);
        piece.remove_prefix(part.size());
        state_->collector.show(state_->before, part, state_->offset);
        hs_scan_stream(state_->stream, part.data(), static_cast<unsigned>(part.size()), 0,
                       state_->scratch.get(), Collector::on_match, &state_->collector);
        state_->collector.settle();
        state_->remember(part);
        state_->offset += part.size();
    }
}

void Matcher::Stream::finish() {
    if (state_->is_idle || !state_->stream) return;
    state_->collector.show(state_->before, {}, state_->offset);
    hs_close_stream(std::exchange(state_->stream, nullptr), state_->scratch.get(),
                    Collector::on_match, &state_->collector);
    state_->collector.settle();
}

}  // namespace scan
