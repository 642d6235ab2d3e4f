#include "server/server.h"

#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "base/codec.h"
#include "base/text.h"
#include "server/archiver.h"
#include "server/clients.h"
#include "server/compactor.h"
#include "server/disk_guard.h"
#include "server/door.h"
#include "target/target.h"

namespace phalanx::server {
namespace {

// A controller that was killed may hold the journal a moment longer than its parent sees it.
constexpr Duration kForTheDying = seconds(10);

Result<net::TokenKey> open_key(const std::string& path) {
  if (std::filesystem::exists(path)) return net::read_key_file(path);
  return net::create_key_file(path);
}

void write_private(const std::string& path, const std::string& text) {
  const mode_t before = umask(077);
  std::ofstream(path) << text;
  umask(before);
}

std::string random_cluster_id() {
  auto key = net::TokenKey::random();
  return key.ok() ? store::sha256_hex(key->bytes()).substr(0, 16) : std::string("cluster");
}

class Server {
 public:
  explicit Server(const ServerOptions& options) : options_(options) {}
  Status start();
  void run() { loop_.run(); }
  void stop();
  [[nodiscard]] const std::optional<Error>& failure() const { return failure_; }

 private:
  Status open_stores();
  Status configure();
  Status listen();
  Result<std::uint16_t> listen_on_port(std::uint16_t asked, std::uint16_t last);
  void effect(const Effect& effect);

  const ServerOptions& options_;
  net::Loop loop_;
  std::unique_ptr<store::SqliteJournal> journal_;
  std::unique_ptr<store::SqliteArchive> archive_;
  std::optional<net::TokenKey> key_;
  std::unique_ptr<Core> core_;
  std::unique_ptr<Reader> reader_;
  std::unique_ptr<Agents> agents_;
  std::unique_ptr<Clients> clients_;
  std::unique_ptr<Archiver> archiver_;
  std::unique_ptr<Compactor> compactor_;
  std::unique_ptr<DiskGuard> disk_guard_;
  std::unique_ptr<Door> door_;
  std::unique_ptr<Router> router_;
  std::unique_ptr<net::HttpServer> http_;
  std::optional<Error> failure_;
};

Status Server::open_stores() {
  std::filesystem::create_directories(options_.state_dir);
  chmod(options_.state_dir.c_str(), 0700);
  const store::Patience patience{kForTheDying, [](const Error& held) {
                                   std::fprintf(stderr, "phalanx: waits up to %s: %s\n",
                                                to_string(kForTheDying).c_str(),
                                                held.message.c_str());
                                 }};
  journal_ = TRY(store::SqliteJournal::open(options_.state_dir + "/journal.db", {}, patience));
  archive_ = TRY(store::SqliteArchive::open(options_.state_dir + "/archive.db"));
  key_ = TRY(open_key(options_.state_dir + "/token.key"));
  return {};
}

Status Server::start() {
  TRY(open_stores());
  core_ = std::make_unique<Core>(
      loop_, *journal_,
      Core::Outside{[this](const Effect& e) { effect(e); },
                    [this](const Committed& c) {
                      reader_->publish(c);
                      compactor_->add(c.events->size(), c.bytes);
                    },
                    [this](const Error& why) {
                      std::fprintf(stderr, "phalanx: state rebuilt from the journal: %s\n",
                                   why.message.c_str());
                      reader_->replace(core_->state());
                      agents_->disconnect_all();
                      disk_guard_->look();  // it may have been for want of room
                      if (core_->failed()) {
                        failure_ = why;
                        loop_.stop();
                      }
                    }});
  TRY(core_->recover());
  for (const std::string& warning : core_->recovered().warnings)
    std::fprintf(stderr, "phalanx: passed over: %s\n", warning.c_str());
  reader_ = std::make_unique<Reader>(core_->state(), *archive_);
  agents_ = std::make_unique<Agents>(
      loop_, *core_,
      [this](const State& state, Prepare& prepare) { target::complete(state, *journal_, prepare); },
      [this](const std::string& node, std::optional<Heartbeat> vitals) {
        reader_->hear(node, vitals);
      });
  clients_ = std::make_unique<Clients>(loop_, *core_);
  archiver_ = std::make_unique<Archiver>(loop_, *core_, *archive_, *journal_);
  CompactorOptions compaction;
  compaction.state_dir = options_.state_dir;
  if (options_.compact_after) compaction.after_events = *options_.compact_after;
  compactor_ = std::make_unique<Compactor>(loop_, *journal_, *reader_, compaction);
  disk_guard_ = std::make_unique<DiskGuard>(loop_, *core_, DiskGuard::disk_of(*journal_),
                                            options_.low_disk_bytes);
  door_ = std::make_unique<Door>(Door{loop_, *core_, *reader_, *journal_, *agents_, *clients_,
                                      *compactor_, *disk_guard_, *key_, options_.state_dir,
                                      geteuid(), options_.reread});
  router_ = std::make_unique<Router>();
  plain_routes(*router_, *door_);
  slurm_routes(*router_, *door_);
  kube_routes(*router_, *door_);
  loop_.on_signal({SIGTERM, SIGINT}, [this](int) { stop(); });
  loop_.on_signal({SIGCHLD}, [this](int) { compactor_->child_ended(); });
  TRY(configure());
  archiver_->catch_up();
  clients_->catch_up();
  compactor_->add(core_->recovered().events, core_->recovered().bytes);
  return {};
}

// Listening starts when the configuration is on disk.
Status Server::configure() {
  if (!core_->state().cluster.empty() && core_->state().config == options_.config) return listen();
  core_->put(system_identity(), Configure{random_cluster_id(), options_.config},
             [this](const Reply& reply, std::uint64_t) {
               const Status status = reply.error ? Status(*reply.error) : listen();
               if (status.ok()) return;
               failure_ = status.error();
               loop_.stop();
             });
  return {};
}

// Asked for any port, it takes the one of its last start where that is free: kubeconfigs name it.
Result<std::uint16_t> Server::listen_on_port(std::uint16_t asked, std::uint16_t last) {
  if (asked == 0 && last != 0)
    if (auto again = http_->listen(options_.tcp_host, last); again.ok()) return again;
  return http_->listen(options_.tcp_host, asked);
}

Status Server::listen() {
  write_private(options_.state_dir + "/join.token",
                make_token(*door_, "agent", net::kNobody, "", hours(24 * 365)) + "\n");
  http_ = std::make_unique<net::HttpServer>(
      loop_, [this](net::Request request, std::shared_ptr<net::Responder> answer) {
        router_->handle(*door_, std::move(request), std::move(answer));
      });
  net::UnixSocket socket;
  socket.path = options_.socket;
  socket.mode = 0666;  // anybody may ask; the kernel says who asks
  TRY(http_->listen(socket));
  const std::string port_file = options_.state_dir + "/port";
  std::uint16_t last = 0;  // the port of its last start
  std::ifstream(port_file) >> last;
  std::filesystem::remove(port_file);
  if (options_.tcp_port)
    write_private(port_file, format("{}\n", TRY(listen_on_port(*options_.tcp_port, last))));
  if (!options_.ready_file.empty()) std::ofstream(options_.ready_file) << getpid() << '\n';
  return {};
}

void Server::effect(const Effect& effect) {
  if (const auto* order = std::get_if<SendOrder>(&effect))
    agents_->send(*order);
  else
    archiver_->add(std::get<ArchiveRow>(effect).id);
}

void Server::stop() {
  if (http_) http_->stop();
  loop_.stop();
}

}  // namespace

int run_controller(const ServerOptions& options) {
  Server server(options);
  if (const Status status = server.start(); !status.ok()) {
    std::fprintf(stderr, "phalanx: the controller cannot start: %s\n",
                 status.error().message.c_str());
    return 1;
  }
  server.run();
  if (server.failure())
    std::fprintf(stderr, "phalanx: the controller stops: %s\n", server.failure()->message.c_str());
  return server.failure() ? 1 : 0;
}

}  // namespace phalanx::server
