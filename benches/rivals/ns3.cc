// Greedy SACK flows over routers; prints delivered packets, and user CPU and peak memory at three moments.
// Arguments: flows host_pairs mss_bytes access_bps trunk_bps delay_s buffer_packets window_packets duration_s kind
// The kind: ip for drop-tail routers and NewReno, a discipline of the trunk's queue, or a congestion control.
#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/nix-vector-routing-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <fstream>
#include <iostream>
#include <string>
#include <sys/resource.h>
#include <vector>

using namespace ns3;

namespace {

const uint32_t HEADERS = 40;
// Bytes that a point-to-point device adds to each packet; its rate is raised accordingly.
const uint32_t PPP = 2;

// User CPU seconds and the peak memory in bytes of this process.
std::string
Used()
{
    rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    std::ifstream status("/proc/self/status");
    std::string line;
    while (std::getline(status, line) && line.rfind("VmHWM:", 0) != 0)
    {
    }
    const double seconds = usage.ru_utime.tv_sec + usage.ru_utime.tv_usec / 1e6;
    return std::to_string(seconds) + " " + std::to_string(std::stoull(line.substr(6)) * 1024);
}

// Creates a link with queues of the given number of packets, not counting those in service.
NetDeviceContainer
Connect(Ptr<Node> a, Ptr<Node> b, double bps, double delay, uint32_t waiting)
{
    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", DataRateValue(DataRate(static_cast<uint64_t>(bps))));
    link.SetChannelAttribute("Delay", TimeValue(Seconds(delay)));
    link.SetQueue("ns3::DropTailQueue", "MaxSize", QueueSizeValue(QueueSize(QueueSizeUnit::PACKETS, waiting)));
    return link.Install(a, b);
}

// The trunk's discipline, with longpipe's parameters; its device keeps one packet. Returns false if the kind names none.
bool
Discipline(const std::string& kind, const std::string& room, uint32_t packet, TrafficControlHelper& queueing)
{
    const QueueSizeValue limit{QueueSize(room)};
    const TimeValue target(MilliSeconds(15));
    if (kind == "red")
    {
        queueing.SetRootQueueDisc("ns3::RedQueueDisc", "MaxSize", limit, "MinTh", DoubleValue(5), "MaxTh",
                                  DoubleValue(15), "QW", DoubleValue(0.002), "LInterm", DoubleValue(10), "Gentle",
                                  BooleanValue(true), "MeanPktSize", UintegerValue(packet));
    }
    else if (kind == "pie")
    {
        queueing.SetRootQueueDisc("ns3::PieQueueDisc", "MaxSize", limit, "QueueDelayReference", target, "Tupdate",
                                  target, "MaxBurstAllowance", TimeValue(MilliSeconds(150)), "MeanPktSize",
                                  UintegerValue(packet), "UseDerandomization", BooleanValue(true));
    }
    else if (kind == "codel")
    {
        queueing.SetRootQueueDisc("ns3::CoDelQueueDisc", "MaxSize", limit);
    }
    else if (kind == "fq-codel")
    {
        queueing.SetRootQueueDisc("ns3::FqCoDelQueueDisc", "MaxSize", limit);
    }
    else
    {
        return false;
    }
    return true;
}

// Sets Linux's sending behavior, as far as ns-3 supports it. Returns false if the kind names no congestion control.
bool
Control(const std::string& kind)
{
    if (kind != "cubic" && kind != "bbr")
    {
        return false;
    }
    const TypeId control = kind == "bbr" ? TcpBbr::GetTypeId() : TcpCubic::GetTypeId();
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(control));
    Config::SetDefault("ns3::TcpL4Protocol::RecoveryType", TypeIdValue(TcpPrrRecovery::GetTypeId()));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(2));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::ClockGranularity", TimeValue(MilliSeconds(1)));
    return true;
}

} // namespace

int
main(int count, char** arguments)
{
    if (count != 11)
    {
        std::cerr << "needs ten arguments\n";
        return 2;
    }
    const std::string loaded = Used();
    const auto flows = static_cast<uint32_t>(std::stoul(arguments[1]));
    const auto pairs = static_cast<uint32_t>(std::stoul(arguments[2]));
    const auto mss = static_cast<uint32_t>(std::stoul(arguments[3]));
    const double framing = double(mss + HEADERS + PPP) / (mss + HEADERS);
    const double access = std::stod(arguments[4]) * framing;
    const double trunk = std::stod(arguments[5]) * framing;
    const double delay = std::stod(arguments[6]);
    const auto buffer = static_cast<uint32_t>(std::stoul(arguments[7]));
    const auto window = static_cast<uint32_t>(std::stoul(arguments[8])) * mss;
    const double duration = std::stod(arguments[9]);
    const std::string kind = arguments[10];

    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TcpNewReno::GetTypeId()));
    Config::SetDefault("ns3::TcpL4Protocol::RecoveryType", TypeIdValue(TcpClassicRecovery::GetTypeId()));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(mss));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(1));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(1));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(window));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(window));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(false));
    Config::SetDefault("ns3::TcpSocketBase::LimitedTransmit", BooleanValue(false));
    Config::SetDefault("ns3::TcpSocketBase::ClockGranularity", TimeValue(MilliSeconds(10)));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(200)));

    const bool controlled = Control(kind);

    // Otherwise a router compares each packet's address with those of all its links.
    Config::SetDefault("ns3::Ipv4::WeakEsModel", BooleanValue(false));

    Ptr<Node> switch1 = CreateObject<Node>();
    Ptr<Node> switch2 = CreateObject<Node>();
    NodeContainer sources;
    NodeContainer sinks;
    sources.Create(pairs);
    sinks.Create(pairs);

    InternetStackHelper stack;
    stack.SetIpv6StackInstall(false);
    stack.SetRoutingHelper(Ipv4NixVectorHelper());
    stack.InstallAll();

    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.252");
    TrafficControlHelper queueing;
    auto address = [&](const NetDeviceContainer& devices) {
        Ipv4InterfaceContainer interfaces = addresses.Assign(devices);
        addresses.NewNetwork();
        // Assigning addresses installs FqCoDel queues.
        queueing.Uninstall(devices);
        return interfaces.GetAddress(0);
    };
    TrafficControlHelper acting;
    const bool acts = Discipline(kind, std::to_string(buffer - 1) + "p", mss + HEADERS, acting);
    if (!acts && !controlled && kind != "ip")
    {
        std::cerr << "unknown kind " << kind << "\n";
        return 2;
    }
    const NetDeviceContainer busy = Connect(switch1, switch2, trunk, delay, acts ? 1 : buffer - 1);
    address(busy);
    if (acts)
    {
        acting.Install(busy.Get(0));
    }
    std::vector<Ipv4Address> sinkAddresses;
    for (uint32_t pair = 0; pair < pairs; ++pair)
    {
        address(Connect(sources.Get(pair), switch1, access, 0, 1'000'000));
        sinkAddresses.push_back(address(Connect(sinks.Get(pair), switch2, access, 0, 1'000'000)));
    }

    ApplicationContainer receivers;
    for (uint32_t flow = 0; flow < flows; ++flow)
    {
        const auto port = static_cast<uint16_t>(10'000 + flow);
        const InetSocketAddress to(sinkAddresses[flow % pairs], port);
        BulkSendHelper sender("ns3::TcpSocketFactory", to);
        // Applications write many segments at once, which takes less time than single writes.
        sender.SetAttribute("SendSize", UintegerValue(64 * mss));
        sender.Install(sources.Get(flow % pairs)).Start(Seconds(double(flow) / flows));
        receivers.Add(
            PacketSinkHelper("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), port))
                .Install(sinks.Get(flow % pairs)));
    }

    const std::string ready = Used();
    Simulator::Stop(Seconds(duration));
    Simulator::Run();
    uint64_t delivered = 0;
    for (auto receiver = receivers.Begin(); receiver != receivers.End(); ++receiver)
    {
        delivered += DynamicCast<PacketSink>(*receiver)->GetTotalRx() / mss;
    }
    std::cout << delivered << " " << loaded << " " << ready << " " << Used() << std::endl;
    Simulator::Destroy();
    return 0;
}
