#include "server/snapshot.h"

#include <utility>

#include "base/codec.h"
#include "cluster/cluster.h"

namespace phalanx::server {
namespace {

constexpr std::size_t kChunkBytes = std::size_t{1} << 20;

// The first chunk.
struct Head {
  std::uint64_t workloads = 0, arrays = 0, objects = 0;
  State rest;
};
BOOST_DESCRIBE_STRUCT(Head, (), (workloads, arrays, objects, rest))

// Each other one.
struct Rows {
  std::vector<Workload> workloads;
  std::vector<Array> arrays;
  std::vector<Object> objects;
};
BOOST_DESCRIBE_STRUCT(Rows, (), (workloads, arrays, objects))

// Collects encoded rows of one table until they fill a chunk.
class Filler {
 public:
  Filler(std::vector<std::string>& chunks, std::string_view table)
      : chunks_(chunks), begin_(format("{{\"{}\":[", table)) {}
  template <class Row>
  void add(const Row& row) {
    text_ += text_.empty() ? begin_ : ",";
    codec::encode_to(text_, row);
    if (text_.size() >= kChunkBytes) close();
  }
  void close() {
    if (text_.empty()) return;
    chunks_.push_back(std::exchange(text_, {}) + "]}");
  }

 private:
  std::vector<std::string>& chunks_;
  std::string begin_, text_;
};

// The rows leave the table as they are written.
template <class Table>
void pour(std::vector<std::string>& chunks, std::string_view name, Table& table) {
  Filler filler(chunks, name);
  while (!table.empty()) filler.add(table.extract(table.begin()).mapped());
  filler.close();
}

// An array and its elements have one specification in memory, as they had before.
void share_specs(State& state) {
  for (auto& [id, w] : state.workloads) {
    const Array* array = find_array(state, w.array);
    if (array && w.spec && array->spec && *w.spec == *array->spec) w.spec = array->spec;
  }
}

}  // namespace

std::vector<std::string> snapshot_chunks(State state) {
  std::vector<std::string> chunks(1);
  Head head{state.workloads.size(), state.arrays.size(), state.objects.size(), {}};
  pour(chunks, "workloads", state.workloads);
  pour(chunks, "arrays", state.arrays);
  pour(chunks, "objects", state.objects);
  head.rest = std::move(state);
  chunks.front() = codec::encode(head);
  return chunks;
}

Result<State> state_of(const std::vector<std::string>& chunks) {
  if (chunks.empty()) return internal("the snapshot is empty");
  Head head = TRY(codec::decode<Head>(chunks.front()));
  State state = std::move(head.rest);
  for (std::size_t i = 1; i < chunks.size(); ++i) {
    Rows rows = TRY(codec::decode<Rows>(chunks[i]));
    for (Workload& w : rows.workloads) {
      if (!w.spec) return internal(format("workload {} has no specification", w.id.value));
      state.workloads.insert_or_assign(w.id, std::move(w));
    }
    for (Array& a : rows.arrays) {
      if (!a.spec) return internal(format("array {} has no specification", a.id.value));
      state.arrays.insert_or_assign(a.id, std::move(a));
    }
    for (Object& o : rows.objects) state.objects.insert_or_assign(o.key, std::move(o));
  }
  if (state.workloads.size() != head.workloads || state.arrays.size() != head.arrays ||
      state.objects.size() != head.objects)
    return internal("rows of the snapshot are missing");
  share_specs(state);
  return state;
}

Result<Replayed> replay(store::Journal& journal, store::Seq until) {
  Replayed out;
  auto snapshot = TRY(journal.load_snapshot());
  if (snapshot && snapshot->seq > until)
    return internal(format("there is a snapshot of event {} already", snapshot->seq));
  if (snapshot) {
    auto state = state_of(std::exchange(snapshot->chunks, {}));
    if (!state.ok() || state->sequence != snapshot->seq)
      return internal(format("snapshot {} cannot be read: {}", snapshot->seq,
                             state.ok() ? "it is of another event" : state.error().message));
    out.state = std::move(*state);
    out.snapshot = snapshot->seq;
    out.warnings = std::move(snapshot->warnings);
  }
  TRY(journal.read(out.snapshot + 1, [&](store::Seq seq, std::string_view bytes) -> Status {
    if (seq > until) return {};
    auto event = codec::decode<Event>(bytes);
    if (!event.ok())
      return internal(
          format("event {} of the journal cannot be read: {}", seq, event.error().message));
    cluster::apply(out.state, *event);
    ++out.events;
    out.bytes += bytes.size();
    return {};
  }));
  return out;
}

std::string fingerprint(const State& state) {
  return store::sha256_hex(cluster::projection(state));
}

// What is compared is what recovery would get: a snapshot that it could not use is worse than none.
Result<Replayed> save_next_snapshot(store::Journal& journal, const Expected& expected) {
  Replayed replayed = TRY(replay(journal, expected.seq));
  const std::vector<std::string> chunks = snapshot_chunks(std::move(replayed.state));
  const State back = TRY(state_of(chunks));
  if (back.sequence != expected.seq || fingerprint(back) != expected.fingerprint)
    return conflict(
        format("the replayed state of event {} is not what the controller has. No snapshot was "
               "made and nothing was deleted. Keep a copy of the journal's files and report this",
               expected.seq));
  TRY(journal.save_snapshot(expected.seq, chunks));
  return replayed;
}

}  // namespace phalanx::server
