#include "tests/sim/faulty_store.h"

namespace sim {

class FaultyStore final : public store::Store {
public:
    FaultyStore(Disk& disk, FaultPlan plan)
        : disk_(disk), plan_(plan), inner_(sqlite::open_snapshot(disk.bytes_).value()) {
        disk_.commits_ = 0;
        disk_.open_ = this;
    }
    ~FaultyStore() override {
        save();
        if (disk_.open_ == this) disk_.open_ = nullptr;
    }

    // Only when another store is to read it: a copy for each commit takes much of a simulation's
    // time.
    void save() {
        if (disk_.open_ == this) disk_.bytes_ = inner_->snapshot().value();
    }

    store::Status write(store::Durability durability, store::Work work) override {
        const bool now = ++disk_.commits_ == plan_.at;
        const Fault fault = now ? plan_.fault : Fault::None;
        if (fault == Fault::CrashBeforeCommit) throw Crash{};
        if (fault == Fault::CommitFails)
            return base::fail(base::ErrorCode::Io, "the disk is full (simulated)");
        if (disk_.commits_ % 2 == 1) rehearse(work);
        auto status = inner_->write(durability, [&](store::Tx& tx) -> store::Status {
            TRY(work(tx));
            durability = tx.durability();
            return {};
        });
        if (!status) return status;
        if (durability == store::Durability::Disk) disk_.synced_bytes_ = inner_->snapshot().value();
        if (fault == Fault::PowerLoss) disk_.lose_power();
        if (fault == Fault::PowerLoss || fault == Fault::CrashAfterCommit) throw Crash{};
        return status;
    }

    void write_async(store::Durability durability, store::Work work,
                     std::move_only_function<void(store::Status)> done) override {
        done(write(durability, std::move(work)));
    }

    store::Status read(store::Work work) override { return inner_->read(std::move(work)); }

private:
    // Runs the work and undoes it, as a store does that has to start a transaction again.
    void rehearse(store::Work& work) {
        const auto undone =
            inner_->write(store::Durability::Process, [&](store::Tx& tx) -> store::Status {
                TRY(work(tx));
                return base::fail(base::ErrorCode::Unavailable, "started again (simulated)");
            });
        CHECK(!undone, "a rehearsal leaves nothing behind");
    }

    Disk& disk_;
    FaultPlan plan_;
    std::unique_ptr<sqlite::InlineStore> inner_;
};

Disk::Disk() {
    auto fresh = sqlite::open_inline({.file = ":memory:", .mode = sqlite::Mode::Inline}).value();
    bytes_ = synced_bytes_ = fresh->snapshot().value();
}

void Disk::lose_power() {
    bytes_ = synced_bytes_;
    open_ = nullptr;  // What it has stored besides is gone.
}

std::unique_ptr<store::Store> Disk::open(FaultPlan plan) {
    if (open_) open_->save();
    return std::make_unique<FaultyStore>(*this, plan);
}

}  // namespace sim
