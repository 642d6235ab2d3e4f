#include "dialect/kube/patch.h"

#include <algorithm>
#include <vector>

#include "base/text.h"

namespace phalanx::kube {

void merge_patch(json::value& target, const json::value& patch) {
  const json::object* members = patch.if_object();
  if (!members) {
    target = patch;
    return;
  }
  if (!target.is_object()) target = json::object();
  json::object& object = target.get_object();
  for (const auto& [key, value] : *members) {
    if (value.is_null())
      object.erase(key);
    else
      merge_patch(object[key], value);
  }
}

namespace {

constexpr std::string_view kOrder = "$setElementOrder/";
constexpr std::string_view kDelete = "$deleteFromPrimitiveList/";

Status merge(json::object& target, const json::object& patch, const Message* message);

std::string_view directive(const json::value& v) {
  const json::object* object = v.if_object();
  const json::value* word = object ? find(*object, "$patch") : nullptr;
  return word && word->is_string() ? std::string_view(word->get_string()) : std::string_view();
}

const json::value* key_of(const json::value& item, std::string_view merge_key) {
  const json::object* object = item.if_object();
  return object ? find(*object, merge_key) : nullptr;
}

json::value* find_item(json::array& items, std::string_view merge_key, const json::value& key) {
  for (json::value& item : items)
    if (const json::value* k = key_of(item, merge_key); k && *k == key) return &item;
  return nullptr;
}

// A new member: its own directives must not stay in it.
Result<json::value> fresh(const json::value& patch, const Message* message) {
  const json::object* object = patch.if_object();
  if (!object) return patch;
  json::object out;
  TRY(merge(out, *object, message));
  return json::value(std::move(out));
}

Status merge_list(json::array& items, const json::array& patch, const Field& field) {
  const bool replace = std::any_of(patch.begin(), patch.end(),
                                   [](const json::value& v) { return directive(v) == "replace"; });
  if (replace) items.clear();
  for (const json::value& change : patch) {
    if (directive(change) == "replace") continue;
    const json::value* key = key_of(change, field.merge_key);
    if (!key)
      return invalid(
          format("the patch of {} needs \"{}\" in every element", field.name, field.merge_key));
    json::value* item = find_item(items, field.merge_key, *key);
    if (directive(change) == "delete") {
      if (item) items.erase(items.begin() + (item - items.data()));
    } else if (item && item->is_object()) {
      TRY(merge(item->get_object(), change.get_object(), field.message));
    } else {
      items.push_back(TRY(fresh(change, field.message)));
    }
  }
  return {};
}

// Elements that the order names come in that order, the others after them.
void put_in_order(json::array& items, const json::array& order, std::string_view merge_key) {
  json::array sorted;
  const auto take = [&](const auto& is_it) {
    for (auto it = items.begin(); it != items.end();) {
      if (!is_it(*it)) {
        ++it;
        continue;
      }
      sorted.push_back(std::move(*it));
      it = items.erase(it);
    }
  };
  for (const json::value& wanted : order) {
    const json::value* key = merge_key.empty() ? &wanted : key_of(wanted, merge_key);
    if (!key) continue;
    take([&](const json::value& item) {
      const json::value* k = merge_key.empty() ? &item : key_of(item, merge_key);
      return k && *k == *key;
    });
  }
  take([](const json::value&) { return true; });
  items = std::move(sorted);
}

void delete_values(json::object& target, std::string_view name, const json::value& values) {
  json::value* list = target.if_contains(name);
  if (!list || !list->is_array() || !values.is_array()) return;
  json::array& items = list->get_array();
  for (const json::value& value : values.get_array())
    items.erase(std::remove(items.begin(), items.end(), value), items.end());
}

void retain(json::object& target, const json::value& names) {
  if (!names.is_array()) return;
  std::vector<std::string> gone;
  for (const auto& entry : target) {
    const json::value name(entry.key());
    const json::array& kept = names.get_array();
    if (std::find(kept.begin(), kept.end(), name) == kept.end()) gone.emplace_back(entry.key());
  }
  for (const std::string& name : gone) target.erase(name);
}

Status merge_member(json::object& target, std::string_view name, const json::value& change,
                    const Message* message) {
  if (change.is_null() || directive(change) == "delete") {
    target.erase(name);
    return {};
  }
  const Field* field = message ? find_field(*message, name) : nullptr;
  const Message* inner = field && field->shape != Shape::map ? field->message : nullptr;
  json::value& old = target[name];
  if (change.is_object() && old.is_object())
    return merge(old.get_object(), change.get_object(), inner);
  if (change.is_array() && field && !field->merge_key.empty()) {
    if (!old.is_array()) old = json::array();
    return merge_list(old.get_array(), change.get_array(), *field);
  }
  old = TRY(fresh(change, inner));
  return {};
}

Status merge(json::object& target, const json::object& patch, const Message* message) {
  if (const json::value* word = find(patch, "$patch"); word && *word == json::value("replace"))
    target.clear();
  for (const auto& [key, value] : patch) {
    const std::string_view name(key.data(), key.size());
    if (name.starts_with(kDelete))
      delete_values(target, name.substr(kDelete.size()), value);
    else if (!name.starts_with('$'))
      TRY(merge_member(target, name, value, message));
  }
  for (const auto& [key, value] : patch) {
    const std::string_view name(key.data(), key.size());
    if (!name.starts_with(kOrder) || !value.is_array()) continue;
    const std::string_view member = name.substr(kOrder.size());
    json::value* list = target.if_contains(member);
    const Field* field = message ? find_field(*message, member) : nullptr;
    if (list && list->is_array())
      put_in_order(list->get_array(), value.get_array(), field ? field->merge_key : "");
  }
  if (const json::value* names = find(patch, "$retainKeys")) retain(target, *names);
  return {};
}

// --- RFC 6902 ---------------------------------------------------------------------------------

constexpr std::size_t kMostOperations = 1000;
constexpr std::size_t kMostCopied = std::size_t{4} << 20;
constexpr std::size_t kMostDepth = 64;

using Pointer = std::vector<std::string>;

Result<Pointer> parse_pointer(std::string_view text) {
  Pointer out;
  if (text.empty()) return out;
  if (text.front() != '/')
    return invalid(format("\"{}\" is not a path: it must begin with /", printable(text)));
  for (const std::string_view part : split(text.substr(1), '/')) {
    std::string token;
    for (std::size_t i = 0; i < part.size(); ++i) {
      if (part[i] != '~') {
        token += part[i];
        continue;
      }
      ++i;
      if (i == part.size() || (part[i] != '0' && part[i] != '1'))
        return invalid(format("\"{}\" has a bad escape: only ~0 and ~1 exist", printable(text)));
      token += part[i] == '0' ? '~' : '/';
    }
    out.push_back(std::move(token));
  }
  if (out.size() > kMostDepth) return invalid("a path of the patch is too deep");
  return out;
}

std::size_t depth(const json::value& v) {
  std::size_t most = 0;
  if (const json::object* object = v.if_object())
    for (const auto& member : *object) most = std::max(most, depth(member.value()));
  if (const json::array* array = v.if_array())
    for (const json::value& item : *array) most = std::max(most, depth(item));
  return most + 1;
}

json::value* step_into(json::value& at, const std::string& token) {
  if (json::object* object = at.if_object()) return object->if_contains(token);
  json::array* array = at.if_array();
  const auto index = parse_uint(token);
  return array && index && *index < array->size() ? &(*array)[static_cast<std::size_t>(*index)]
                                                  : nullptr;
}

json::value* resolve(json::value& root, const Pointer& pointer, std::size_t count) {
  json::value* at = &root;
  for (std::size_t i = 0; i < count && at; ++i) at = step_into(*at, pointer[i]);
  return at;
}

Error no_such(const Pointer& pointer) {
  return invalid(
      format("the patch names /{}, which does not exist", printable(join(pointer, "/"))));
}

Status add(json::value& root, const Pointer& pointer, json::value value, bool replace) {
  if (depth(value) + pointer.size() > kMostDepth) return invalid("the patched object is too deep");
  if (pointer.empty()) {
    root = std::move(value);
    return {};
  }
  json::value* parent = resolve(root, pointer, pointer.size() - 1);
  if (!parent) return no_such(pointer);
  const std::string& last = pointer.back();
  if (json::object* object = parent->if_object()) {
    (*object)[last] = std::move(value);
    return {};
  }
  json::array* array = parent->if_array();
  if (!array) return no_such(pointer);
  const auto index = last == "-" ? std::optional<std::uint64_t>(array->size()) : parse_uint(last);
  if (!index || *index > array->size() || (replace && *index == array->size()))
    return no_such(pointer);
  const auto at = static_cast<std::size_t>(*index);
  if (replace)
    (*array)[at] = std::move(value);
  else
    array->insert(array->begin() + static_cast<std::ptrdiff_t>(at), std::move(value));
  return {};
}

Status remove(json::value& root, const Pointer& pointer) {
  if (pointer.empty() || !resolve(root, pointer, pointer.size())) return no_such(pointer);
  json::value* parent = resolve(root, pointer, pointer.size() - 1);
  if (json::object* object = parent->if_object()) {
    object->erase(pointer.back());
    return {};
  }
  json::array& array = parent->get_array();
  array.erase(array.begin() + static_cast<std::ptrdiff_t>(*parse_uint(pointer.back())));
  return {};
}

// A value taken from elsewhere in the object; copies may not make it grow without bound.
Status copy_or_move(json::value& root, const json::value& operation, bool move,
                    const Pointer& pointer, std::size_t& copied) {
  const Pointer from = TRY(parse_pointer(text_at(operation, {"from"})));
  const json::value* source = resolve(root, from, from.size());
  if (!source) return no_such(from);
  json::value value = *source;
  copied += json::serialize(value).size();
  if (copied > kMostCopied) return invalid("the patch copies too much");
  if (move) TRY(remove(root, from));
  return add(root, pointer, std::move(value), false);
}

Status apply_one(json::value& root, const json::value& operation, std::size_t& copied) {
  const std::string op = text_at(operation, {"op"});
  const Pointer pointer = TRY(parse_pointer(text_at(operation, {"path"})));
  const json::object* members = operation.if_object();
  const json::value* value = members ? members->if_contains("value") : nullptr;
  if (op == "remove") return remove(root, pointer);
  if (op == "move" || op == "copy")
    return copy_or_move(root, operation, op == "move", pointer, copied);
  if (op != "add" && op != "replace" && op != "test")
    return invalid(format("\"{}\" is not an operation of a JSON patch", printable(op)));
  if (!value) return invalid(format("the operation {} needs a value", op));
  if (op != "test") return add(root, pointer, *value, op == "replace");
  const json::value* there = resolve(root, pointer, pointer.size());
  if (!there || *there != *value)
    return invalid(format("the test of /{} failed", printable(join(pointer, "/"))));
  return {};
}

}  // namespace

Status strategic_patch(json::object& target, const json::object& patch, const Message& message) {
  return merge(target, patch, &message);
}

Status json_patch(json::value& target, const json::value& operations) {
  const json::array* list = operations.if_array();
  if (!list) return invalid("a JSON patch is a list of operations");
  if (list->size() > kMostOperations)
    return invalid(format("a JSON patch has at most {} operations", kMostOperations));
  std::size_t copied = 0;
  for (const json::value& operation : *list) TRY(apply_one(target, operation, copied));
  return {};
}

}  // namespace phalanx::kube
