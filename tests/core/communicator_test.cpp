// One rank, and what needs no second one. Tests of several ranks are in tests/ranks.
#include "core/communicator.h"

#include <cmath>
#include <limits>
#include <map>

#include "core/comm/call.h"
#include "core/comm/launcher.h"
#include "core/comm/peer_watch.h"
#include "core/comm/reduce_in_order.h"
#include "core/threads.h"
#include "tests/support/devices.h"
#include "tests/support/near.h"

namespace rodeo::test {
namespace {

using comm::choose_backend;
using comm::Launch;
using Rows = std::vector<std::int64_t>;

class CoreCommunicator : public OnDevice {};
RODEO_ON_ALL_DEVICES(CoreCommunicator);

TEST_P(CoreCommunicator, OneRankCopies) {
  const Communicator self;
  EXPECT_EQ(self.rank(), 0);
  EXPECT_EQ(self.size(), 1);
  EXPECT_EQ(self.backend(), "self");
  for (const Shape& shape : {Shape{4, 3}, Shape{0, 3}}) {
    const Tensor x = random_tensor(shape, DType::kF32, device()), before = x.clone();
    const Rows rows{shape[0]};
    for (const Tensor& out : {self.all_gather(x), self.all_gather(x, rows), self.reduce_scatter(x),
                              self.reduce_scatter(x, rows, Reduction::kMax), self.all_to_all(x),
                              self.all_to_all(x, rows, rows)}) {
      EXPECT_TRUE(same_bits(out, x));
      EXPECT_TRUE(shape.numel() == 0 || !out.shares_memory_with(x));
    }
    self.all_reduce(x);
    self.broadcast(x);
    self.barrier();
    EXPECT_TRUE(same_bits(x, before));
  }
}

TEST(CoreCommunicatorChecks, NameWhatIsWrong) {
  const Communicator self;
  const Tensor x = Tensor::zeros({4, 3});
  EXPECT_ERROR(self.all_reduce({}), "[all_reduce] x is undefined");
  EXPECT_ERROR(self.all_gather(Tensor::zeros({})), "[all_gather] x must have rows, got shape []");
  EXPECT_ERROR(self.all_gather(x, {4, 4}), "[all_gather] rows must have a value for each of 1 ranks, got 2");
  EXPECT_ERROR(self.all_gather(x, {5}), "[all_gather] x must have rows[0] = 5 rows, got 4");
  EXPECT_ERROR(self.all_gather(x, {-1}), "[all_gather] rows must not be negative, got -1");
  EXPECT_ERROR(self.reduce_scatter(x, {5}), "[reduce_scatter] x must have the sum of rows, 5, got 4 rows");
  EXPECT_ERROR(self.all_to_all(x, {5}, {5}), "[all_to_all] x must have the sum of send_rows, 5, got 4 rows");
  EXPECT_ERROR(self.all_to_all(x, {4}, {5}), "[all_to_all] rank 0 sends 4 rows to rank 0, which expects 5");
  EXPECT_ERROR(self.broadcast(x, 1), "[broadcast] root must be in [0, 1), got 1");
  CommunicatorOptions options;
  options.max_message_bytes = 0;
  EXPECT_ERROR(Communicator(options), "[communicator] max_message_bytes must be in [1, 1073741824], got 0");
  options = {};
  options.timeout_seconds = 0;
  EXPECT_ERROR(Communicator(options), "[communicator] timeout_seconds must be positive, got 0");
}

TEST(CoreCommunicatorChecks, ExceptionsOfOneRankAreAnExitCode) {
  CommunicatorOptions options;
  options.backend = CommBackend::kSelf;
  EXPECT_EQ(run_ranks([](const Communicator& self) { return self.size() + 6; }, options), 7);
  testing::internal::CaptureStderr();
  EXPECT_EQ(run_ranks([](const Communicator&) -> int { fail("[spmm] x\n"); }, options), 1);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "error: [spmm] x\\n\n");
}

Launch launch_of(const std::map<std::string, std::string>& variables) {
  return comm::read_launch([&](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

/// "launcher rank/size obstacle"
std::string described(const std::map<std::string, std::string>& variables) {
  const Launch launch = launch_of(variables);
  return str(launch.launcher, " ", launch.rank, "/", launch.size, " ", launch.mpi_obstacle);
}

TEST(CoreCommunicatorLauncher, IsReadFromTheEnvironment) {
  const std::map<std::string, std::string> slurm = {{"SLURM_PROCID", "3"}, {"SLURM_STEP_NUM_TASKS", "4"}};
  const auto with = [](std::map<std::string, std::string> all,
                       const std::map<std::string, std::string>& more) {
    all.insert(more.begin(), more.end());
    return all;
  };
  const std::map<std::string, std::string> ompi = {{"OMPI_COMM_WORLD_RANK", "1"},
                                                   {"OMPI_COMM_WORLD_SIZE", "2"}};
  EXPECT_EQ(described({}), " 0/1 ");
  EXPECT_EQ(described(ompi), "mpirun 1/2 ");
  EXPECT_EQ(described(with(slurm, ompi)), "mpirun 1/2 ");
  EXPECT_EQ(described({{"PMI_RANK", "5"}, {"PMI_SIZE", "8"}}), "mpirun 5/8 ");
  EXPECT_EQ(described(with(slurm, {{"PMIX_RANK", "3"}})), "srun 3/4 ");
  EXPECT_EQ(described(slurm),
            "srun 3/4 srun told them nothing of each other: add --mpi=pmix to srun, or use mpirun");
  EXPECT_EQ(described({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}}), " 0/1 ")
      << "a batch script is one process";
  EXPECT_EQ(described({{"RANK", "1"}, {"WORLD_SIZE", "4"}, {"MASTER_ADDR", "localhost"}}),
            "torchrun 1/4 MPI cannot join processes of torchrun: start them with mpirun -np 4");
  EXPECT_EQ(described({{"RANK", "1"}}), " 0/1 ");
  EXPECT_ERROR(launch_of({{"OMPI_COMM_WORLD_SIZE", "2"}}),
               "[communicator] the environment variable OMPI_COMM_WORLD_RANK must be a number, got nothing");
  EXPECT_ERROR(launch_of({{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "2x\n"}}),
               "[communicator] the environment variable OMPI_COMM_WORLD_SIZE must be a number, got 2x\\n");
  EXPECT_ERROR(launch_of({{"OMPI_COMM_WORLD_RANK", "2"}, {"OMPI_COMM_WORLD_SIZE", "2"}}),
               "[communicator] OMPI_COMM_WORLD_RANK is 2, but OMPI_COMM_WORLD_SIZE is 2");
}

TEST(CoreCommunicatorLauncher, DecidesTheBackend) {
  const Launch alone, mpirun{"mpirun", 0, 4, {}}, single{"torchrun", 0, 1, "obstacle"},
      torchrun{"torchrun", 0, 4, "obstacle"};
  EXPECT_EQ(choose_backend(CommBackend::kAuto, alone, true), CommBackend::kSelf);
  EXPECT_EQ(choose_backend(CommBackend::kAuto, single, true), CommBackend::kSelf);
  EXPECT_EQ(choose_backend(CommBackend::kAuto, mpirun, true), CommBackend::kMpi);
  EXPECT_EQ(choose_backend(CommBackend::kSelf, mpirun, false), CommBackend::kSelf);
  EXPECT_ERROR(
      choose_backend(CommBackend::kMpi, alone, true),
      "[communicator] no launcher started this program: start it with mpirun -np 2 PROGRAM for two ranks");
  EXPECT_EQ(choose_backend(CommBackend::kAuto, torchrun, true), CommBackend::kTcp);
  EXPECT_EQ(choose_backend(CommBackend::kAuto, mpirun, false), CommBackend::kTcp);
  EXPECT_EQ(choose_backend(CommBackend::kTcp, mpirun, true), CommBackend::kTcp);
  EXPECT_ERROR(choose_backend(CommBackend::kMpi, torchrun, true),
               "[communicator] torchrun started 4 ranks, but obstacle");
  const std::string no_mpi =
      "[communicator] mpirun started 4 ranks, but this build has no MPI: install libopenmpi-dev and "
      "configure with -DRODEO_MPI=ON";
  EXPECT_ERROR(choose_backend(CommBackend::kMpi, mpirun, false), no_mpi);
  Launch hosts = mpirun;
  hosts.tcp_obstacle = "where?";
  EXPECT_ERROR(choose_backend(CommBackend::kAuto, hosts, false), no_mpi + ". where?");
  EXPECT_ERROR(choose_backend(CommBackend::kTcp, hosts, true),
               "[communicator] mpirun started 4 ranks, but where?");
}

/// "host:port local_rank obstacle" of `Launch::meeting`.
std::string meeting_of(const std::map<std::string, std::string>& variables) {
  const Launch launch = launch_of(variables);
  return str(launch.meeting.host, ":", launch.meeting.port, " ", launch.local_rank, " ", launch.tcp_obstacle);
}

TEST(CoreCommunicatorLauncher, KnowsWhereRanksMeet) {
  std::map<std::string, std::string> torchrun = {{"RANK", "1"},
                                                 {"WORLD_SIZE", "4"},
                                                 {"LOCAL_RANK", "3"},
                                                 {"MASTER_ADDR", "node0"},
                                                 {"MASTER_PORT", "4000"}};
  EXPECT_EQ(meeting_of(torchrun), "node0:4000 3 ");
  torchrun["TORCHELASTIC_RUN_ID"] = "none";
  EXPECT_EQ(meeting_of(torchrun), "node0:4001 3 ") << "torchrun itself listens on MASTER_PORT";
  const std::string without = launch_of(torchrun).meeting.key;
  torchrun["RODEO_KEY"] = "secret";
  EXPECT_EQ(launch_of(torchrun).meeting.key, without + "secret");
  torchrun["LOCAL_WORLD_SIZE"] = "4";
  EXPECT_EQ(meeting_of(torchrun), "localhost:4001 3 ");
  torchrun["MASTER_PORT"] = "65530";
  EXPECT_ERROR(launch_of(torchrun),
               "[communicator] the environment variable MASTER_PORT must be in [1, 65519], got 65530");

  std::map<std::string, std::string> srun = {{"SLURM_PROCID", "3"},
                                             {"SLURM_STEP_NUM_TASKS", "4"},
                                             {"SLURM_LOCALID", "1"},
                                             {"SLURM_JOB_ID", "77"},
                                             {"SLURM_STEP_ID", "0"}};
  const Launch unknown = launch_of(srun);
  EXPECT_EQ(unknown.tcp_obstacle, "SLURM_STEP_NODELIST is not set: set MASTER_ADDR to the host of rank 0");
  srun["SLURM_STEP_NODELIST"] = "gpu[03-05,9],m1";
  const Launch launch = launch_of(srun);
  EXPECT_EQ(launch.meeting.host, "gpu03");
  EXPECT_EQ(launch.local_rank, 1);
  EXPECT_TRUE(launch.meeting.port >= 20000 && launch.meeting.port < 30000);
  srun["MASTER_ADDR"] = "10.0.0.1";
  srun["MASTER_PORT"] = "4000";
  EXPECT_EQ(meeting_of(srun), "10.0.0.1:4000 1 ");
  srun["SLURM_STEP_NUM_NODES"] = "1";
  EXPECT_EQ(meeting_of(srun), "localhost:4000 1 ");

  std::map<std::string, std::string> ompi = {{"OMPI_COMM_WORLD_RANK", "1"},
                                             {"OMPI_COMM_WORLD_SIZE", "2"},
                                             {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                                             {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}};
  ompi["MASTER_ADDR"] = "10.0.0.1";
  EXPECT_EQ(launch_of(ompi).meeting.host, "localhost") << "one host needs no port, whatever it is called";
  ompi.erase("MASTER_ADDR");
  ompi["OMPI_COMM_WORLD_LOCAL_SIZE"] = "1";
  EXPECT_EQ(launch_of(ompi).tcp_obstacle,
            "without MPI the host of rank 0 is not known: set MASTER_ADDR to it for all ranks");

  ompi.insert({{"RODEO_RANK", "2"}, {"RODEO_RANKS", "3"}, {"RODEO_MEETING", "50"}});
  EXPECT_EQ(launch_of(ompi).launcher, "rodeo") << "the innermost launcher";
  EXPECT_EQ(meeting_of(ompi), "localhost:50 2 ");
  ompi["RODEO_MEETING"] = "127.0.0.1:50";
  EXPECT_ERROR(launch_of(ompi),
               "[communicator] the environment variable RODEO_MEETING must be a number, got 127.0.0.1:50");
}

TEST(CoreCommunicatorLauncher, ReadsTheFirstHostOfSlurm) {
  EXPECT_EQ(comm::first_host("node7"), "node7");
  EXPECT_EQ(comm::first_host("a,b[1-2]"), "a");
  EXPECT_EQ(comm::first_host("gpu-[010-012,20]"), "gpu-010");
  EXPECT_EQ(comm::first_host("r[1,5]n-ib,x"), "r1n-ib");
  EXPECT_EQ(comm::first_host("r[3]"), "r3");
  EXPECT_EQ(comm::first_host("broken["), "");
  EXPECT_EQ(comm::first_host(""), "");
}

TEST(CoreCommunicatorWatch, NamesTheRankThatIsAwaitedInVain) {
  const comm::PeerState waits{true, false, false}, busy, left{false, true, false}, died{false, false, true};
  const auto why = [](const std::vector<comm::PeerState>& peers, double waited) {
    return comm::why_waiting_is_vain(0, peers, waited, 25);
  };
  EXPECT_EQ(why({waits, busy}, 25), "");
  EXPECT_EQ(why({waits, busy}, 26),
            "rank 0 has waited for its GPU for 25 s, but rank 1 does something else: it hangs or is late. "
            "CommunicatorOptions::timeout_seconds sets the limit");
  EXPECT_EQ(why({busy, waits, died}, 0.5), "");
  EXPECT_EQ(why({busy, waits, died}, 2), "rank 2 has exited, and rank 0 waits for it");
  EXPECT_EQ(why({busy, left}, 20), "") << "this rank may compute alone";
  EXPECT_EQ(why({busy, left}, 26), "rank 1 has exited, and rank 0 waits for it");
  EXPECT_EQ(why({busy, waits}, 249), "");
  EXPECT_EQ(
      why({busy, waits}, 251),
      "all ranks have waited for their GPUs for 250 s: a collective does not end. NCCL_DEBUG=INFO shows "
      "what NCCL does");
}

TEST(CoreCommunicatorWatch, NamesARankThatIsSilent) {
  comm::PeerState peer;
  peer.silent = 19;
  EXPECT_EQ(comm::why_silent(2, peer, 20), "");
  peer.silent = 21;
  EXPECT_EQ(comm::why_silent(2, peer, 20),
            "rank 2 gave no sign of life for 20 s: its process is stopped, or its host cannot be reached");
  peer.left = true;  // what it sent may still arrive
  EXPECT_EQ(comm::why_silent(2, peer, 20), "");
}

TEST(CoreCommunicatorCall, IsTheSameAfterItWasSent) {
  const comm::Call call{comm::Collective::kAllToAll,
                        DType::kBF16,
                        Reduction::kMax,
                        2,
                        Shape{5, 6, 7},
                        Rows{1, 2, 2},
                        Rows{4, 0, 1},
                        true};
  const comm::Call got = comm::decode(comm::encode(call, 3), 3, 1);
  EXPECT_EQ(got.collective, call.collective);
  EXPECT_EQ(got.dtype, call.dtype);
  EXPECT_EQ(got.reduction, call.reduction);
  EXPECT_EQ(got.root, call.root);
  EXPECT_EQ(got.cuda, call.cuda);
  EXPECT_EQ(got.shape, call.shape);
  EXPECT_EQ(got.send_rows, call.send_rows);
  EXPECT_EQ(got.receive_rows, call.receive_rows);
  EXPECT_EQ(comm::encode({}, 3).size(), comm::encode(call, 3).size());
}

TEST(CoreCommunicatorCall, OtherWordsAreRefused) {
  const comm::Call call{
      comm::Collective::kBarrier, DType::kU8, Reduction::kMax, 2, Shape{1, 2, 3, 4}, {}, {}, true};
  const std::vector<std::int64_t> words = comm::encode(call, 3);
  comm::decode(words, 3, 1);
  for (std::size_t i = 0; i < words.size(); ++i)
    for (const std::int64_t value : {std::int64_t{-1}, std::int64_t{7}, std::int64_t{1} << 40}) {
      std::vector<std::int64_t> wrong = words;
      wrong[i] = value;
      if (value > 0 && i >= 6)
        EXPECT_NO_THROW(comm::decode(wrong, 3, 1)) << i;  // a size
      else
        EXPECT_ERROR(comm::decode(wrong, 3, 1),
                     "[communicator] rank 1 sent words that are no call: do all ranks run the same version?");
    }
}

TEST(CoreCommunicatorCall, OfAGpuDoesNotFitOneOfTheCpu) {
  comm::Call first{comm::Collective::kAllReduce, DType::kF32, Reduction::kSum, 0, Shape{5}, {}, {}};
  comm::Call second = first;
  second.cuda = true;
  EXPECT_ERROR(comm::check_calls({first, first, second}),
               "[all_reduce] rank 0 has a tensor on the CPU, rank 2 on a GPU");
}

// 1 + 2^24 - 2^24 in f32 is 0 in this order and 1 in another one.
TEST(CoreCommunicatorReduce, AddsInTheOrderOfRanks) {
  const int threads = num_threads();
  for (const int count : {1, 2}) {
    set_num_threads(count);
    constexpr std::int64_t kElements = 40000;
    const auto sum = [&](std::vector<float> values) {
      std::vector<Tensor> parts;
      std::vector<const std::byte*> pointers;
      for (const float value : values)
        pointers.push_back(
            static_cast<std::byte*>(parts.emplace_back(Tensor::full({kElements}, value)).raw()));
      comm::reduce_in_order(pointers, static_cast<std::byte*>(parts[1].raw()), kElements, DType::kF32,
                            Reduction::kSum);
      return parts[1].to_vector<float>();
    };
    EXPECT_EQ(sum({1, 0x1p24f, -0x1p24f}), std::vector<float>(kElements, 0));
    EXPECT_EQ(sum({-0x1p24f, 0x1p24f, 1}), std::vector<float>(kElements, 1));
  }
  set_num_threads(threads);
}

// A NaN of any rank stays, also beside infinity.
TEST(CoreCommunicatorReduce, MaxOfEachPlaceAndNan) {
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  for (const DType dtype : {DType::kF64, DType::kF32, DType::kBF16, DType::kF16}) {
    const std::vector<std::vector<double>> of_rank{
        {1, nan, 5, 5, -inf, -2}, {2, 5, nan, 5, -3, -1}, {3, inf, inf, nan, -inf, -4}};
    std::vector<Tensor> parts;
    std::vector<const std::byte*> pointers;
    for (const std::vector<double>& values : of_rank)
      pointers.push_back(static_cast<std::byte*>(parts.emplace_back(Tensor::from(values).to(dtype)).raw()));
    const Tensor out = Tensor::full({6}, nan, dtype);
    comm::reduce_in_order(pointers, static_cast<std::byte*>(out.raw()), 6, dtype, Reduction::kMax);
    const std::vector<double> got = doubles(out);
    EXPECT_EQ(got[0], 3) << dtype;
    for (const std::size_t i : {1, 2, 3}) EXPECT_TRUE(std::isnan(got[i])) << dtype << " " << i;
    EXPECT_EQ(got[4], -3) << dtype;
    EXPECT_EQ(got[5], -1) << dtype;
  }
}

// 1 + 2^-9 is 1 in bf16: terms of one rounding each would be lost.
TEST(CoreCommunicatorReduce, RoundsHalfFloatsOnce) {
  std::vector<Tensor> parts{Tensor::full({3}, 1, DType::kBF16)};
  for (int i = 0; i < 4; ++i) parts.push_back(Tensor::full({3}, 0x1p-9, DType::kBF16));
  std::vector<const std::byte*> pointers;
  for (const Tensor& part : parts) pointers.push_back(static_cast<std::byte*>(part.raw()));
  comm::reduce_in_order(pointers, static_cast<std::byte*>(parts[0].raw()), 3, DType::kBF16, Reduction::kSum);
  EXPECT_EQ(doubles(parts[0]), std::vector<double>(3, 1 + 0x1p-7));
}

}  // namespace
}  // namespace rodeo::test
