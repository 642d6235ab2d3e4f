#include "dialect/kube/table.h"

#include <array>

#include "base/text.h"

namespace phalanx::kube {
namespace {

struct Column {
  std::string_view name;
  std::string_view type = "string";
  int priority = 0;  // 1: only with -o wide
};

constexpr Column kConfigMapColumns[] = {{"Name"}, {"Data", "integer"}, {"Age"}};
constexpr Column kNamespaceColumns[] = {{"Name"}, {"Status"}, {"Age"}};
constexpr Column kEventColumns[] = {{"Last Seen"}, {"Type"}, {"Reason"}, {"Object"}, {"Message"}};
constexpr Column kJobColumns[] = {{"Name"},
                                  {"Status"},
                                  {"Completions"},
                                  {"Duration"},
                                  {"Age"},
                                  {"Containers", "string", 1},
                                  {"Images", "string", 1},
                                  {"Selector", "string", 1}};
constexpr Column kPodColumns[] = {{"Name"},
                                  {"Ready"},
                                  {"Status"},
                                  {"Restarts"},
                                  {"Age"},
                                  {"IP", "string", 1},
                                  {"Node", "string", 1},
                                  {"Nominated Node", "string", 1},
                                  {"Readiness Gates", "string", 1}};

std::span<const Column> columns_of(const Resource& r) {
  if (r.name == "jobs") return kJobColumns;
  if (r.name == "pods") return kPodColumns;
  if (r.name == "events") return kEventColumns;
  if (r.name == "namespaces") return kNamespaceColumns;
  return kConfigMapColumns;
}

std::string since(const json::value& o, Path path, Time now) {
  const auto at = parse_rfc3339(text_at(o, path));
  return at ? human_duration(now - *at) : "<unknown>";
}

std::string age(const json::value& o, Time now) {
  return since(o, {"metadata", "creationTimestamp"}, now);
}

std::string or_none(const std::string& text) { return text.empty() ? "<none>" : text; }

std::size_t size_at(const json::value& o, std::string_view name) {
  const json::value* v = find(o, {name});
  return v && v->is_object() ? v->get_object().size() : 0;
}

bool has_condition(const json::value& o, std::string_view type) {
  const json::value* list = find(o, {"status", "conditions"});
  if (!list || !list->is_array()) return false;
  for (const json::value& c : list->get_array())
    if (text_at(c, {"type"}) == type && text_at(c, {"status"}) == "True") return true;
  return false;
}

// "a,b": one member of each container in the Pod (template) at `pod`.
std::string of_containers(const json::value* pod, std::string_view name) {
  std::string out;
  const json::value* list = pod ? find(*pod, {"spec", "containers"}) : nullptr;
  if (!list || !list->is_array()) return out;
  for (const json::value& c : list->get_array()) {
    if (!out.empty()) out += ',';
    out += text_at(c, {name});
  }
  return out;
}

json::array job_cells(const json::value& o, Time now) {
  std::string status = "Running";
  for (const std::string_view type : {"Suspended", "Failed", "Complete"})
    if (has_condition(o, type)) status = type;
  if (find(o, {"metadata", "deletionTimestamp"})) status = "Terminating";
  const auto wanted = integer_at(o, {"spec", "completions"}).value_or(1);
  const auto done = integer_at(o, {"status", "succeeded"}).value_or(0);
  const auto begin = parse_rfc3339(text_at(o, {"status", "startTime"}));
  const auto end = parse_rfc3339(text_at(o, {"status", "completionTime"}));
  const json::value* pod = find(o, {"spec", "template"});
  const std::string uid = text_at(o, {"metadata", "uid"});
  return {text_at(o, {"metadata", "name"}),
          status,
          format("{}/{}", done, wanted),
          begin ? human_duration(end.value_or(now) - *begin) : std::string(),
          age(o, now),
          or_none(of_containers(pod, "name")),
          or_none(of_containers(pod, "image")),
          "batch.kubernetes.io/controller-uid=" + uid};
}

json::array pod_cells(const json::value& o, Time now) {
  std::string status = text_at(o, {"status", "phase"});
  std::int64_t restarts = 0;
  bool ready = false;
  const json::value* list = find(o, {"status", "containerStatuses"});
  if (list && list->is_array() && !list->get_array().empty()) {
    const json::value& c = list->get_array().front();
    restarts = integer_at(c, {"restartCount"}).value_or(0);
    const json::value* flag = find(c, {"ready"});
    ready = flag && flag->is_bool() && flag->get_bool();
    for (const std::string_view kind : {"waiting", "terminated"})
      if (const std::string reason = text_at(c, {"state", kind, "reason"}); !reason.empty())
        status = reason;
  }
  if (find(o, {"metadata", "deletionTimestamp"})) status = "Terminating";
  return {text_at(o, {"metadata", "name"}),
          ready ? "1/1" : "0/1",
          status,
          format("{}", restarts),
          age(o, now),
          "<none>",
          or_none(text_at(o, {"spec", "nodeName"})),
          "<none>",
          "<none>"};
}

json::array event_cells(const json::value& o, Time now) {
  return {since(o, {"lastTimestamp"}, now), text_at(o, {"type"}), text_at(o, {"reason"}),
          format("{}/{}", to_lower(text_at(o, {"involvedObject", "kind"})),
                 text_at(o, {"involvedObject", "name"})),
          text_at(o, {"message"})};
}

json::array cells_of(const Resource& r, const json::value& o, Time now) {
  if (r.name == "jobs") return job_cells(o, now);
  if (r.name == "pods") return pod_cells(o, now);
  if (r.name == "events") return event_cells(o, now);
  if (r.name == "namespaces")
    return {text_at(o, {"metadata", "name"}), text_at(o, {"status", "phase"}), age(o, now)};
  return {text_at(o, {"metadata", "name"}), size_at(o, "data") + size_at(o, "binaryData"),
          age(o, now)};
}

std::optional<std::int64_t> digits(std::string_view text, std::size_t at, std::size_t count) {
  const auto n = parse_uint(text.substr(at, count));
  return n ? std::optional(static_cast<std::int64_t>(*n)) : std::nullopt;
}

}  // namespace

json::object table(const Resource& r, std::span<const json::object> objects, Time now,
                   const std::string& version, RowObject with) {
  json::array columns;
  for (const Column& c : columns_of(r))
    columns.push_back(json::object{{"name", c.name},
                                   {"type", c.type},
                                   {"format", c.name == "Name" ? "name" : ""},
                                   {"description", c.name},
                                   {"priority", c.priority}});
  json::array rows;
  for (const json::object& o : objects) {
    json::object row{{"cells", cells_of(r, json::value(o), now)}};
    if (with == RowObject::whole) row["object"] = o;
    if (with == RowObject::metadata) {
      const json::value* meta = find(o, "metadata");
      row["object"] = json::object{{"kind", "PartialObjectMetadata"},
                                   {"apiVersion", "meta.k8s.io/v1"},
                                   {"metadata", meta ? *meta : json::value(json::object())}};
    }
    rows.push_back(std::move(row));
  }
  return {{"kind", "Table"},
          {"apiVersion", "meta.k8s.io/v1"},
          {"metadata", json::object{{"resourceVersion", version}}},
          {"columnDefinitions", std::move(columns)},
          {"rows", std::move(rows)}};
}

std::string human_duration(Duration d) {
  const std::int64_t s = std::max<std::int64_t>(0, d.count() / 1000);
  const std::int64_t m = s / 60, h = m / 60, days = h / 24;
  const auto two = [](std::int64_t big, char a, std::int64_t small, char b) {
    return small == 0 ? format("{}{}", big, a) : format("{}{}{}{}", big, a, small, b);
  };
  if (s < 120) return format("{}s", s);
  if (m < 10) return two(m, 'm', s % 60, 's');
  if (m < 180) return format("{}m", m);
  if (h < 8) return two(h, 'h', m % 60, 'm');
  if (h < 48) return format("{}h", h);
  if (days < 8) return two(days, 'd', h % 24, 'h');
  if (days < 730) return format("{}d", days);
  return two(days / 365, 'y', days % 365, 'd');
}

std::optional<Time> parse_rfc3339(std::string_view text) {
  if (text.size() != 20 || text[10] != 'T' || text[19] != 'Z') return std::nullopt;
  const auto year = digits(text, 0, 4), month = digits(text, 5, 2), day = digits(text, 8, 2);
  const auto hour = digits(text, 11, 2), minute = digits(text, 14, 2), second = digits(text, 17, 2);
  if (!year || !month || !day || !hour || !minute || !second) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(*year)),
                                         std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok()) return std::nullopt;
  const auto midnight = std::chrono::sys_days(date).time_since_epoch();
  return Time(midnight + hours(*hour) + minutes(*minute) + seconds(*second));
}

}  // namespace phalanx::kube
