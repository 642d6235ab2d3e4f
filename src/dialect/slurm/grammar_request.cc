#include <algorithm>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "dialect/slurm/grammar.h"

namespace phalanx::slurm {
namespace {

std::string quoted(std::string_view text) { return printable(text.substr(0, 60)); }

std::optional<std::uint32_t> parse_u32(std::string_view text) {
  const auto number = parse_uint(text);
  if (!number || *number > 0xffff'ffff) return std::nullopt;
  return static_cast<std::uint32_t>(*number);
}

// "5", "0-9", "0-9:2".
Result<IndexRange> parse_index_range(std::string_view text, std::uint32_t max_size) {
  const Error bad = invalid(
      format("Invalid job array specification \"{}\"; write indexes such as 0-9, 1,5,7 or 0-9:2%3",
             quoted(text)));
  const std::size_t dash = text.find('-');
  const std::size_t colon = text.find(':');
  if (colon != std::string_view::npos && (dash == std::string_view::npos || colon < dash))
    return bad;
  const auto first = parse_u32(text.substr(0, dash));
  const auto last =
      dash == std::string_view::npos ? first : parse_u32(text.substr(dash + 1, colon - dash - 1));
  const auto step = colon == std::string_view::npos ? std::optional<std::uint32_t>(1)
                                                    : parse_u32(text.substr(colon + 1));
  if (!first || !last || !step || *step == 0 || *last < *first) return bad;
  if (*last >= max_size)
    return invalid(format(
        "Invalid job array specification: index {} is too large; the largest is {} (MaxArraySize)",
        *last, max_size - 1));
  return IndexRange{*first, *first + (*last - *first) / *step * *step, *step};
}

// Canonical ranges of the indexes whose bit is set.
class RangeFolder {
 public:
  void add(std::uint32_t index) {
    if (run_ == 0) {
      first_ = last_ = index;
      run_ = 1;
    } else if (run_ == 1) {
      step_ = index - last_;
      last_ = index;
      run_ = 2;
    } else if (index - last_ == step_) {
      last_ = index;
      ++run_;
    } else {
      close(index);
    }
  }
  std::vector<IndexRange> finish() {
    flush();
    return std::move(ranges_);
  }

 private:
  // A pair with a gap is no pattern: its first is alone, its second may begin another run.
  void close(std::uint32_t index) {
    if (run_ == 2 && step_ > 1) {
      ranges_.push_back({first_, first_, 1});
      first_ = last_;
      step_ = index - last_;
      last_ = index;
      return;
    }
    ranges_.push_back({first_, last_, step_});
    first_ = last_ = index;
    run_ = 1;
  }
  void flush() {
    if (run_ == 2 && step_ > 1) {
      ranges_.push_back({first_, first_, 1});
      ranges_.push_back({last_, last_, 1});
    } else if (run_ > 0) {
      ranges_.push_back({first_, last_, run_ == 1 ? 1 : step_});
    }
    run_ = 0;
  }

  std::vector<IndexRange> ranges_;
  std::uint32_t first_ = 0, last_ = 0, step_ = 1;
  std::size_t run_ = 0;
};

// The set as canonical ranges. The work is bounded: plain ranges are merged first, and stepped ones
// that cover the same indexes over and over are refused.
Result<std::vector<IndexRange>> canonical(std::vector<IndexRange> pieces) {
  constexpr std::uint64_t kMaxMarks = 16ULL * kMaxArraySize;
  std::sort(pieces.begin(), pieces.end(), [](const IndexRange& a, const IndexRange& b) {
    return std::tuple(a.step, a.first, a.last) < std::tuple(b.step, b.first, b.last);
  });
  std::vector<IndexRange> merged;
  std::uint64_t marks = 0;
  std::uint32_t top = 0;
  for (const IndexRange& piece : pieces) {
    top = std::max(top, piece.last);
    if (piece.step == 1 && !merged.empty() && piece.first <= merged.back().last + 1) {
      merged.back().last = std::max(merged.back().last, piece.last);
      continue;
    }
    if (piece.step > 1) marks += (piece.last - piece.first) / piece.step + 1;
    if (marks > kMaxMarks)
      return invalid("Invalid job array specification: too many overlapping ranges with a step");
    merged.push_back(piece);
  }
  if (merged.size() == 1 && merged[0].step == 1) return merged;
  std::vector<bool> present(std::size_t{top} + 1);  // at most kMaxArraySize bits
  for (const IndexRange& piece : merged)
    for (std::uint64_t i = piece.first; i <= piece.last; i += piece.step) present[i] = true;
  RangeFolder folder;
  for (std::uint32_t i = 0; i <= top; ++i)
    if (present[i]) folder.add(i);
  return folder.finish();
}

constexpr std::pair<std::string_view, DependencyKind> kDependencies[] = {
    {"after", DependencyKind::After},
    {"afterany", DependencyKind::AfterAny},
    {"afterok", DependencyKind::AfterOk},
    {"afternotok", DependencyKind::AfterNotOk},
    {"aftercorr", DependencyKind::AfterCorr},
    {"afterburstbuffer", DependencyKind::AfterBurstBuffer},
    {"expand", DependencyKind::Expand},
    {"singleton", DependencyKind::Singleton}};

Error bad_dependency(std::string_view text) {
  return invalid(format(
      "Job dependency problem: \"{}\" is not a dependency; write afterok:123, afterany:123:124, "
      "after:123+5 or singleton, joined by ',' (all) or by '?' (any)",
      quoted(text)));
}

// "225", "225_1", "225+10" (after only).
Result<Dependency> parse_dependency_job(DependencyKind kind, std::string_view text) {
  Dependency out{kind, 0, std::nullopt, 0};
  std::string_view id = text;
  if (const std::size_t plus = id.find('+'); plus != std::string_view::npos) {
    const auto delay = parse_u32(id.substr(plus + 1));
    if (kind != DependencyKind::After || !delay) return bad_dependency(text);
    out.minutes = *delay;
    id = id.substr(0, plus);
  }
  if (const std::size_t line = id.find('_'); line != std::string_view::npos) {
    if (id.substr(line + 1) != "*") {
      out.index = parse_u32(id.substr(line + 1));
      if (!out.index) return bad_dependency(text);
    }
    id = id.substr(0, line);
  }
  const auto job = parse_u32(id);
  if (!job || *job == 0) return bad_dependency(text);
  out.job = *job;
  return out;
}

Status parse_dependency_item(std::string_view item, std::vector<Dependency>& items) {
  const std::vector<std::string_view> words = split(item, ':');
  if (words.size() == 1 && parse_u32(item)) {  // a bare id is afterany
    items.push_back(TRY(parse_dependency_job(DependencyKind::AfterAny, item)));
    return {};
  }
  const auto known =
      std::find_if(std::begin(kDependencies), std::end(kDependencies),
                   [&](const auto& entry) { return iequals(entry.first, words[0]); });
  if (known == std::end(kDependencies)) return bad_dependency(item);
  if (known->second == DependencyKind::Singleton) {
    if (words.size() > 1) return bad_dependency(item);
    items.push_back({DependencyKind::Singleton, 0, std::nullopt, 0});
    return {};
  }
  if (words.size() < 2) return bad_dependency(item);
  for (std::size_t i = 1; i < words.size(); ++i)
    items.push_back(TRY(parse_dependency_job(known->second, words[i])));
  return {};
}

bool name_like(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return static_cast<unsigned char>(c) > ' ' && c != ':' && c != ',' && c != '=' && c != '/' &&
           c != '"' && c != '\'';
  });
}

Result<GresRequest> parse_gres_item(std::string_view item) {
  const Error bad = invalid(
      format("Invalid generic resource (gres) specification \"{}\"; write gpu:2 or gpu:a100:2",
             quoted(item)));
  std::string_view rest = item;
  if (istarts_with(rest, "gres/") || istarts_with(rest, "gres:")) rest.remove_prefix(5);
  GresRequest out;
  std::string_view count;
  bool counted = false;
  if (const std::size_t equals = rest.find('='); equals != std::string_view::npos) {
    count = rest.substr(equals + 1);
    counted = true;
    rest = rest.substr(0, equals);
  }
  std::vector<std::string_view> words = split(rest, ':');
  if (!counted && words.size() > 1 && !words.back().empty() && words.back()[0] >= '0' &&
      words.back()[0] <= '9') {
    // "gpu:4": a count; "gpu:2g.20gb" with a letter that is no unit is a type.
    if (words.size() > 2 || parse_count(words.back()).ok()) {
      count = words.back();
      counted = true;
      words.pop_back();
    }
  }
  if (words.size() > 2 || !name_like(words[0]) || iequals(words[0], "gres") ||
      (words.size() == 2 && !name_like(words[1])))
    return bad;
  out.name = words[0];
  if (words.size() == 2) out.type = words[1];
  if (!counted) return out;
  const auto number = parse_count(count);
  if (!number.ok()) return bad;
  out.count = *number;
  return out;
}

bool same_resource(const GresRequest& a, const GresRequest& b) {
  return a.name == b.name && a.type == b.type;
}

Status append_gres(std::vector<GresRequest>& list, GresRequest item) {
  for (const GresRequest& earlier : list)
    if (same_resource(earlier, item))
      return invalid(
          format("Invalid generic resource (gres) specification: {} is named twice; name it once "
                 "with the sum",
                 item.type.empty() ? item.name : item.name + ":" + item.type));
  list.push_back(std::move(item));
  return {};
}

}  // namespace

Result<ArraySpec> parse_array(std::string_view text, std::uint32_t max_size) {
  max_size = std::clamp<std::uint32_t>(max_size, 1, kMaxArraySize);
  ArraySpec spec;
  std::string_view rest = text;
  const auto take_limit = [&]() -> Status {
    const std::size_t percent = rest.find('%');
    if (percent == std::string_view::npos) return {};
    const auto limit = parse_u32(rest.substr(percent + 1));
    if (!limit)
      return invalid(
          format("Invalid job array specification \"{}\": write a number after %", quoted(text)));
    spec.at_once = *limit;
    rest = rest.substr(0, percent);
    return {};
  };
  if (!rest.empty() && rest[0] == '[') {  // [0-9%3] and [0-9]%3
    if (rest.back() == ']') {
      rest = rest.substr(1, rest.size() - 2);
      TRY(take_limit());
    } else {
      TRY(take_limit());
      if (rest.size() < 2 || rest.back() != ']')
        return invalid(format("Invalid job array specification \"{}\": a bracket has no partner",
                              quoted(text)));
      rest = rest.substr(1, rest.size() - 2);
    }
  } else {
    TRY(take_limit());
  }
  for (const std::string_view part : split(rest, ','))
    spec.ranges.push_back(TRY(parse_index_range(part, max_size)));
  spec.ranges = TRY(canonical(std::move(spec.ranges)));
  return spec;
}

std::string print_array(const ArraySpec& spec) {
  std::string out;
  for (const IndexRange& range : spec.ranges) {
    if (!out.empty()) out += ',';
    out += format("{}", range.first);
    if (range.last != range.first) out += format("-{}", range.last);
    if (range.step > 1) out += format(":{}", range.step);
  }
  if (spec.at_once > 0) out += format("%{}", spec.at_once);
  return out;
}

std::uint64_t array_count(const ArraySpec& spec) {
  std::uint64_t count = 0;
  for (const IndexRange& range : spec.ranges) count += (range.last - range.first) / range.step + 1;
  return count;
}

bool array_contains(const ArraySpec& spec, std::uint32_t index) {
  return std::any_of(spec.ranges.begin(), spec.ranges.end(), [&](const IndexRange& range) {
    return index >= range.first && index <= range.last && (index - range.first) % range.step == 0;
  });
}

std::vector<IndexRange> fold_indexes(std::span<const std::uint32_t> sorted) {
  RangeFolder folder;
  for (const std::uint32_t index : sorted) folder.add(index);
  return folder.finish();
}

Result<DependencyList> parse_dependencies(std::string_view text) {
  DependencyList list;
  if (text.empty() || text == "0") return list;
  list.any = text.find('?') != std::string_view::npos;
  if (list.any && text.find(',') != std::string_view::npos)
    return invalid(
        format("Job dependency problem: \"{}\" mixes ',' (all) and '?' (any); use one of them",
               quoted(text)));
  for (const std::string_view item : split(text, list.any ? '?' : ','))
    TRY(parse_dependency_item(item, list.items));
  return list;
}

std::string print_dependency(const Dependency& dependency) {
  std::string out;
  for (const auto& [name, kind] : kDependencies)
    if (kind == dependency.kind) out = name;
  if (dependency.kind == DependencyKind::Singleton) return out;
  out += format(":{}", dependency.job);
  if (dependency.index) out += format("_{}", *dependency.index);
  if (dependency.minutes > 0) out += format("+{}", dependency.minutes);
  return out;
}

std::string print_dependencies(const DependencyList& list) {
  std::vector<std::string> items;
  items.reserve(list.items.size());
  for (const Dependency& item : list.items) items.push_back(print_dependency(item));
  return join(items, list.any ? "?" : ",");
}

Result<std::vector<GresRequest>> parse_gres(std::string_view text) {
  std::vector<GresRequest> list;
  if (iequals(text, "none")) return list;
  for (const std::string_view item : split(text, ',')) {
    GresRequest request = TRY(parse_gres_item(item));
    TRY(append_gres(list, std::move(request)));
  }
  return list;
}

Result<std::vector<GresRequest>> parse_gpus(std::string_view text) {
  std::vector<GresRequest> list;
  for (const std::string_view item : split(text, ',')) {
    const std::size_t colon = item.rfind(':');
    const std::string_view type =
        colon == std::string_view::npos ? std::string_view() : item.substr(0, colon);
    const auto count = parse_count(colon == std::string_view::npos ? item : item.substr(colon + 1));
    if (!count.ok() || (colon != std::string_view::npos && !name_like(type)))
      return invalid(
          format("\"{}\" is not a number of GPUs; write 4, or type:4 as in a100:4", quoted(item)));
    TRY(append_gres(list, {"gpu", std::string(type), *count}));
  }
  return list;
}

std::string print_gres(std::span<const GresRequest> list) {
  std::string out;
  for (const GresRequest& item : list) {
    if (!out.empty()) out += ',';
    out += item.name;
    if (!item.type.empty()) out += ":" + item.type;
    out += format(":{}", item.count);
  }
  return out;
}

Result<ExportSpec> parse_export(std::string_view text) {
  ExportSpec spec;
  if (iequals(text, "nil")) return ExportSpec{ExportBase::Nil, {}, {}};
  spec.base = ExportBase::Listed;
  std::string item;
  char quote = 0;
  const auto take_item = [&]() -> Status {
    const std::size_t equals = item.find('=');
    if (equals == 0)
      return invalid(format("\"{}\" in --export has no name; write NAME=value", quoted(item)));
    if (equals != std::string::npos)
      spec.values.insert_or_assign(item.substr(0, equals), item.substr(equals + 1));
    else if (iequals(item, "all"))
      spec.base = ExportBase::All;
    else if (iequals(item, "none"))
      spec.base = ExportBase::None;
    else if (!item.empty() &&
             std::find(spec.names.begin(), spec.names.end(), item) == spec.names.end())
      spec.names.push_back(item);
    item.clear();
    return {};
  };
  for (const char c : text) {
    if (quote != 0 ? c == quote : c == '"' || c == '\'') {
      quote = quote != 0 ? '\0' : c;
    } else if (c == ',' && quote == 0) {
      TRY(take_item());
    } else if (c == '\0') {
      return invalid("--export holds a NUL byte; remove it");
    } else {
      item += c;
    }
  }
  if (quote != 0)
    return invalid(format("\"{}\" in --export has an unmatched quote; close it", quoted(text)));
  TRY(take_item());
  return spec;
}

}  // namespace phalanx::slurm
