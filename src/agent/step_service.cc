#include "agent/step_service.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "agent/kernel_file.h"
#include "base/codec.h"
#include "base/text.h"

namespace phalanx::agent {
namespace {

// A token carries the environment of every rank of its node.
net::ServerOptions server_options() {
  net::ServerOptions options;
  options.limits.head = std::size_t{16} << 20;
  return options;
}

int streams_of(const spawn::TaskSpec& task) {
  if (task.pty) return 1;
  return (task.out.kind == spawn::StreamKind::Stream ? 1 : 0) |
         (task.err.kind == spawn::StreamKind::Stream ? 2 : 0);
}

// srun is told to come again.
bool preparing(const node::Node& node, const Fence& fence) {
  const auto reports = node.reports(Time{});
  return std::any_of(reports.begin(), reports.end(), [&](const AttemptReport& report) {
    return report.fence == fence && report.phase == AttemptPhase::preparing;
  });
}

void refuse(net::WebSocket& socket, const std::string& why) {
  socket.send(codec::encode(StepNotice(StepRefused{why})));
  socket.send(codec::encode(StepNotice(StepNodeEnded{})));
}

}  // namespace

StepService::StepService(net::Loop& loop, Rooms& rooms, const node::Node& node,
                         const ControllerLink& link, std::string run_dir, Found found)
    : loop_(loop),
      rooms_(rooms),
      node_(node),
      link_(link),
      run_dir_(std::move(run_dir)),
      found_(std::move(found)),
      server_(
          loop,
          [this](const net::Request& request, const std::shared_ptr<net::Responder>& answer) {
            handle(request, answer);
          },
          server_options()) {
  std::error_code ignored;
  std::filesystem::create_directories(run_dir_ + "/steps", ignored);
  ::chmod((run_dir_ + "/steps").c_str(), 0700);
  rooms_.adopt_step = [this](const node::UnitKey& key) { return adopt(key); };
}

Status StepService::listen(const std::string& socket) {
  net::UnixSocket where;
  where.path = socket;
  where.mode = 0666;
  return server_.listen(where);
}

void StepService::job_stops(const Fence& fence, EndCause cause) {
  for (const auto& [key, step] : sessions_)
    if (key.fence == fence) step->job_stops(rooms_.local().node, cause);
}

void StepService::step_stops(const node::UnitKey& key) {
  const auto it = sessions_.find(key);
  if (it != sessions_.end()) it->second->job_stops(rooms_.local().node, EndCause::cancelled);
}

// --- who may

Result<StepGrant> StepService::granted(const net::Request& request) const {
  constexpr std::string_view kBearer = "Bearer ";
  const auto header = request.headers.find("Authorization");
  if (!header || !istarts_with(*header, kBearer)) return denied("no step token");
  if (!link_.step_key()) return unavailable("this node has not reached its controller yet");
  const std::string claims = TRY(
      net::verify_token(trim(header->substr(kBearer.size())), *link_.step_key(), net::wall_now()));
  boost::json::value json = TRY(codec::parse_json(claims));
  if (auto* object = json.if_object()) object->erase("exp");  // the token's own, checked above
  StepGrant grant = TRY(codec::decode_value<StepGrant>(json));
  const uid_t uid = request.peer.uid;
  if (uid != grant.owner.uid && uid != 0 && uid != ::geteuid())
    return denied("this step belongs to another user");
  return grant;
}

void StepService::handle(const net::Request& request,
                         const std::shared_ptr<net::Responder>& answer) {
  if (request.path != "/step/v1" || !net::wants_websocket(request))
    return answer->reply(404, "text/plain", "steps are started at /step/v1, over a WebSocket\n");
  auto grant = granted(request);
  if (!grant.ok()) {
    const int status = grant.error().code == Error::Code::Unavailable ? 503 : 403;
    return answer->reply(status, "text/plain", grant.error().message + "\n");
  }
  if (preparing(node_, grant->fence))
    return answer->reply(503, "text/plain", "the job is not ready on this node yet\n");
  answer->upgrade({},
                  [this, grant = std::move(*grant)](const std::shared_ptr<net::WebSocket>& socket) {
                    opened(socket, grant);
                  });
}

void StepService::opened(const std::shared_ptr<net::WebSocket>& socket, const StepGrant& grant) {
  const std::weak_ptr<net::WebSocket> weak = socket;
  socket->on_message([this, weak, grant](const std::string& message, net::WebSocket::Kind) {
    if (const auto self = weak.lock()) first(self, grant, message);
  });
}

// --- steps

void StepService::first(const std::shared_ptr<net::WebSocket>& socket, const StepGrant& grant,
                        const std::string& message) {
  const auto command = codec::decode<StepCommand>(message);
  if (!command.ok())
    return socket->close(1008, "not a command of this version: " + command.error().message);
  const node::UnitKey key{grant.fence, grant.step};
  const auto known = sessions_.find(key);
  if (known != sessions_.end()) return known->second->connect(socket, true);
  if (const auto* launch = std::get_if<StepLaunch>(&*command))
    return this->launch(socket, grant, *launch);
  refuse(*socket, "the step is not on this node");
}

void StepService::launch(const std::shared_ptr<net::WebSocket>& socket, const StepGrant& grant,
                         const StepLaunch& launch) {
  const node::UnitKey key{grant.fence, grant.step};
  if (const std::string why = node_.refuse_step(grant); !why.empty()) return refuse(*socket, why);
  auto request = step_request(grant, launch, rooms_.local());
  if (!request.ok()) return refuse(*socket, request.error().message);
  StepRecord record{grant.label, grant.share.ranks, {}};
  for (const spawn::TaskSpec& task : request->tasks) record.streams.push_back(streams_of(task));
  std::ofstream(record_path(key)) << codec::encode(record);
  StepSession& step = session(key, std::move(record));
  step.connect(socket, false);
  step.launch(grant, std::move(*request));
}

StepSession& StepService::session(const node::UnitKey& key, StepRecord record) {
  StepSession::Outside outside{loop_, rooms_, found_,
                               [this](const node::UnitKey& over) { forget(over); },
                               [this, fence = key.fence] { return kill_wait(fence); }};
  auto& step = sessions_[key];
  step = std::make_unique<StepSession>(std::move(outside), key, std::move(record));
  return *step;
}

// The cluster's, as the job's order brought it.
Duration StepService::kill_wait(const Fence& fence) const {
  const LaunchOrder* order = node_.launch_order(fence);
  return order ? order->grace : LaunchOrder{}.grace;
}

std::string StepService::record_path(const node::UnitKey& key) const {
  return format("{}/steps/w{}_a{}.{}.json", run_dir_, key.fence.workload.value, key.fence.attempt,
                key.step);
}

Unit::Handler StepService::adopt(const node::UnitKey& key) {
  auto record = codec::decode<StepRecord>(read_text(record_path(key)).value_or("{}"));
  return session(key, record.ok() ? std::move(*record) : StepRecord{}).handler();
}

void StepService::forget(const node::UnitKey& key) {
  ::unlink(record_path(key).c_str());
  sessions_.erase(key);
}

}  // namespace phalanx::agent
