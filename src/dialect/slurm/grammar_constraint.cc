#include <algorithm>

#include "base/text.h"
#include "dialect/slurm/grammar.h"

namespace phalanx::slurm {
namespace {

constexpr int kMaxDepth = 16;

class ConstraintReader {
 public:
  explicit ConstraintReader(std::string_view text) : text_(text), rest_(text) {}

  Result<Constraint> read() {
    Constraint out = TRY(read_chain(0));
    if (!rest_.empty()) return bad("a bracket has no partner");
    return out;
  }

 private:
  Error bad(std::string_view why) const {
    return invalid(
        format("Invalid feature specification \"{}\": {}", printable(text_.substr(0, 60)), why));
  }
  bool take(char c) {
    if (rest_.empty() || rest_[0] != c) return false;
    rest_.remove_prefix(1);
    return true;
  }

  // a&b|c, from left to right: (a&b)|c. Equal neighbours share one node of the tree.
  Result<Constraint> read_chain(int depth) {
    if (depth > kMaxDepth) return bad(format("more than {} groups inside each other", kMaxDepth));
    Constraint left = TRY(read_term(depth));
    while (!rest_.empty() && rest_[0] != ')' && rest_[0] != ']') {
      const bool either = rest_[0] == '|';
      if (!take('|') && !take('&') && !take(','))
        return bad("join features with & (and) or | (or)");
      Constraint right = TRY(read_term(depth));
      const ConstraintKind kind = either ? ConstraintKind::Or : ConstraintKind::And;
      if (left.kind != kind || left.count != 0) {
        Constraint parent;
        parent.kind = kind;
        parent.parts.push_back(std::move(left));
        left = std::move(parent);
      }
      left.parts.push_back(std::move(right));
    }
    return left;
  }

  Result<Constraint> read_term(int depth) {
    Constraint out;
    if (take('(')) {
      out = TRY(read_chain(depth + 1));
      if (!take(')')) return bad("a bracket has no partner");
    } else if (take('[')) {
      out.kind = ConstraintKind::OneOf;
      out.parts.push_back(TRY(read_chain(depth + 1)));
      if (!take(']')) return bad("a bracket has no partner");
      if (out.parts[0].kind == ConstraintKind::Or && out.parts[0].count == 0) {
        std::vector<Constraint> choices = std::move(out.parts[0].parts);
        out.parts = std::move(choices);
      }
    } else {
      const std::size_t end = std::min(rest_.find_first_of("&|,()[]*! \t"), rest_.size());
      out.feature = std::string(rest_.substr(0, end));
      if (end < rest_.size() && rest_[end] == '!')
        return bad("'!' is not an operator here; use --exclude for nodes");
      if (out.feature.empty()) return bad("a feature is missing");
      rest_.remove_prefix(end);
    }
    return with_count(std::move(out));
  }

  Result<Constraint> with_count(Constraint term) {
    if (!take('*')) return term;
    const std::size_t end = std::min(rest_.find_first_not_of("0123456789"), rest_.size());
    const auto count = parse_uint(rest_.substr(0, end));
    if (!count || *count == 0 || *count > 1'000'000 || term.count != 0)
      return bad("write a number of nodes after *");
    rest_.remove_prefix(end);
    term.count = static_cast<std::uint32_t>(*count);
    return term;
  }

  std::string_view text_, rest_;
};

void print_to(std::string& out, const Constraint& c, bool inside) {
  const auto parts = [&](char joint) {
    for (std::size_t i = 0; i < c.parts.size(); ++i) {
      if (i > 0) out += joint;
      print_to(out, c.parts[i], true);
    }
  };
  switch (c.kind) {
    case ConstraintKind::Feature:
      out += c.feature;
      break;
    case ConstraintKind::OneOf:
      out += '[';
      parts('|');
      out += ']';
      break;
    case ConstraintKind::And:
    case ConstraintKind::Or: {
      const bool group = inside || c.count != 0;
      if (group) out += '(';
      parts(c.kind == ConstraintKind::Or ? '|' : '&');
      if (group) out += ')';
      break;
    }
  }
  if (c.count != 0) out += format("*{}", c.count);
}

}  // namespace

Result<Constraint> parse_constraint(std::string_view text) { return ConstraintReader(text).read(); }

std::string print_constraint(const Constraint& constraint) {
  std::string out;
  print_to(out, constraint, false);
  return out;
}

bool constraint_allows(const Constraint& c, std::span<const std::string> features) {
  const auto allows = [&](const Constraint& part) { return constraint_allows(part, features); };
  switch (c.kind) {
    case ConstraintKind::Feature:
      return std::find(features.begin(), features.end(), c.feature) != features.end();
    case ConstraintKind::And:
      return std::all_of(c.parts.begin(), c.parts.end(), allows);
    case ConstraintKind::Or:
    case ConstraintKind::OneOf:
      return std::any_of(c.parts.begin(), c.parts.end(), allows);
  }
  return false;
}

}  // namespace phalanx::slurm
