#include "exec/sandbox/program/plan.h"

#include <cstring>

namespace sandbox {
namespace {

constexpr std::string_view kHead = "holon-confine 4\n";

class Writer {
public:
    void operator()(std::uint64_t number) {
        char bytes[sizeof number];
        std::memcpy(bytes, &number, sizeof number);
        bytes_.append(bytes, sizeof number);
    }
    void operator()(bool flag) { (*this)(std::uint64_t{flag}); }
    void operator()(Part::Kind kind) { (*this)(static_cast<std::uint64_t>(kind)); }
    void operator()(const std::string& text) {
        (*this)(std::uint64_t{text.size()});
        bytes_ += text;
    }
    template <class T>
    void operator()(const std::vector<T>& list) {
        (*this)(std::uint64_t{list.size()});
        for (const auto& one : list) (*this)(one);
    }
    void operator()(const Part& part);
    std::string take() { return std::move(bytes_); }

private:
    std::string bytes_{kHead};
};

// After a piece that is not there, everything is empty and bad.
class Reader {
public:
    explicit Reader(std::string_view bytes) : rest_(bytes) {}
    void operator()(std::uint64_t& number) {
        const auto piece = take(sizeof number);
        number = 0;
        if (!bad_) std::memcpy(&number, piece.data(), sizeof number);
    }
    void operator()(bool& flag) {
        std::uint64_t number = 0;
        (*this)(number);
        flag = number != 0;
    }
    void operator()(Part::Kind& kind) {
        std::uint64_t number = 0;
        (*this)(number);
        kind = static_cast<Part::Kind>(number);
        if (!std::string_view("brdgfmlc").contains(static_cast<char>(number))) bad_ = true;
    }
    void operator()(std::string& text) {
        std::uint64_t size = 0;
        (*this)(size);
        text = std::string(take(size));
    }
    template <class T>
    void operator()(std::vector<T>& list) {
        std::uint64_t size = 0;
        (*this)(size);
        for (; size > 0 && !bad_; --size) (*this)(list.emplace_back());
    }
    void operator()(std::string_view& text) {
        std::uint64_t size = 0;
        (*this)(size);
        text = take(size);
    }
    void operator()(Part& part);
    void operator()(PartView& part);
    bool is_done() const { return !bad_ && rest_.empty(); }

private:
    std::string_view take(std::uint64_t size) {
        if (bad_ || size > rest_.size()) {
            bad_ = true;
            return {};
        }
        const auto piece = rest_.substr(0, size);
        rest_.remove_prefix(size);
        return piece;
    }

    std::string_view rest_;
    bool bad_{false};
};

// One list of members for both directions.
template <class Codec, class P>
void each(Codec& codec, P& part)
    requires requires { part.kind; }
{
    codec(part.kind);
    codec(part.path);
    codec(part.source);
    codec(part.device);
    codec(part.inode);
    codec(part.text);
}

template <class Codec, class P>
void each(Codec& codec, P& plan)
    requires requires { plan.parts; }
{
    codec(plan.parts);
    codec(plan.private_bytes);
    codec(plan.shares_network);
    codec(plan.bounds_process_table);
    codec(plan.allowed_hosts);
    codec(plan.has_proxy);
    codec(plan.network_log);
    codec(plan.memory_group);
    codec(plan.cpu_s);
    codec(plan.memory_bytes);
    codec(plan.processes);
    codec(plan.file_bytes);
    codec(plan.open_files);
    codec(plan.folder);
    codec(plan.environment);
    codec(plan.argv);
}

void Writer::operator()(const Part& part) {
    each(*this, part);
}
void Reader::operator()(Part& part) {
    each(*this, part);
}
void Reader::operator()(PartView& part) {
    each(*this, part);
}

template <class T>
std::string encoded(const T& value) {
    Writer writer;
    if constexpr (requires { value.parts; })
        each(writer, value);
    else
        writer(value);
    return writer.take();
}

template <class T>
std::optional<T> decoded(std::string_view bytes) {
    if (!bytes.starts_with(kHead)) return std::nullopt;
    bytes.remove_prefix(kHead.size());
    Reader reader(bytes);
    T value;
    if constexpr (requires { value.parts; })
        each(reader, value);
    else
        reader(value);
    if (!reader.is_done()) return std::nullopt;
    return value;
}

}  // namespace

std::string encode(const Plan& plan) {
    return encoded(plan);
}
std::string encode(const std::vector<Part>& parts) {
    return encoded(parts);
}

std::optional<Plan> decode_plan(std::string_view bytes) {
    return decoded<Plan>(bytes);
}
std::optional<std::vector<PartView>> decode_parts(std::string_view bytes) {
    return decoded<std::vector<PartView>>(bytes);
}

}  // namespace sandbox
