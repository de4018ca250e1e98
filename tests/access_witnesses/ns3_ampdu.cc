/* Saturated 802.11ax stations that send A-MPDUs of 32 frames to an access point, in ns-3 3.37 (Debian's libns3-dev):
 *
 *     g++ -O1 -std=c++17 ns3_ampdu.cc -o ns3_ampdu -lns3-wifi -lns3-applications -lns3-internet -lns3-mobility \
 *         -lns3-network -lns3-core -lns3-propagation
 *     ns3_ampdu --seed=1 --bar=false
 *
 * It prints the goodput [Mbit/s] of all stations together. With --bar=true, ns-3's default, a station requests the block
 * ACK that it has missed before it sends the frames again. */
#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/mobility-module.h"
#include "ns3/network-module.h"
#include "ns3/wifi-module.h"
#include <iostream>

using namespace ns3;

int
main(int argc, char* argv[])
{
    uint32_t stations = 5;
    uint32_t seed = 1;
    double seconds = 2;
    bool bar = false;
    CommandLine command;
    command.AddValue("stations", "number of stations", stations);
    command.AddValue("seed", "number of the run", seed);
    command.AddValue("seconds", "measured time", seconds);
    command.AddValue("bar", "whether missed block ACKs are requested", bar);
    command.Parse(argc, argv);
    RngSeedManager::SetRun(seed);
    Config::SetDefault("ns3::QosTxop::UseExplicitBarAfterMissedBlockAck", BooleanValue(bar));
    Config::SetDefault("ns3::WifiMacQueue::MaxSize", StringValue("2000p"));
    Config::SetDefault("ns3::WifiMacQueue::MaxDelay", StringValue("100s"));

    NodeContainer nodes;
    NodeContainer accessPoint;
    nodes.Create(stations);
    accessPoint.Create(1);
    YansWifiPhyHelper phy;
    phy.SetChannel(YansWifiChannelHelper::Default().Create());
    phy.Set("ChannelSettings", StringValue("{36, 20, BAND_5GHZ, 0}"));
    WifiHelper wifi;
    wifi.SetStandard(WIFI_STANDARD_80211ax);
    wifi.SetRemoteStationManager("ns3::ConstantRateWifiManager",
                                 "DataMode", StringValue("HeMcs11"),
                                 "ControlMode", StringValue("OfdmRate24Mbps"));
    WifiMacHelper mac;
    // 32 subframes of 1544 bytes; aggregation of MSDUs is off.
    UintegerValue size(32 * 1544 + 100);
    UintegerValue none(0);
    Ssid ssid("channel");
    mac.SetType("ns3::StaWifiMac", "Ssid", SsidValue(ssid), "BE_MaxAmpduSize", size, "BE_MaxAmsduSize", none);
    NetDeviceContainer devices = wifi.Install(phy, mac, nodes);
    mac.SetType("ns3::ApWifiMac", "Ssid", SsidValue(ssid), "BE_MaxAmpduSize", size, "BE_MaxAmsduSize", none);
    NetDeviceContainer all(wifi.Install(phy, mac, accessPoint), devices);
    Config::Set("/NodeList/*/DeviceList/*/$ns3::WifiNetDevice/HeConfiguration/GuardInterval",
                TimeValue(NanoSeconds(800)));

    MobilityHelper mobility;
    Ptr<ListPositionAllocator> positions = CreateObject<ListPositionAllocator>();
    for (uint32_t i = 0; i <= stations; i++)
    {
        positions->Add(Vector(0.1 * i, 0, 0));
    }
    mobility.SetPositionAllocator(positions);
    mobility.SetMobilityModel("ns3::ConstantPositionMobilityModel");
    mobility.Install(nodes);
    mobility.Install(accessPoint);
    InternetStackHelper stack;
    stack.Install(nodes);
    stack.Install(accessPoint);
    Ipv4AddressHelper address;
    address.SetBase("10.0.0.0", "255.255.255.0");
    Ipv4InterfaceContainer interfaces = address.Assign(all);

    PacketSinkHelper sink("ns3::UdpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), 9));
    Ptr<PacketSink> received = DynamicCast<PacketSink>(sink.Install(accessPoint).Get(0));
    OnOffHelper source("ns3::UdpSocketFactory", InetSocketAddress(interfaces.GetAddress(0), 9));
    source.SetConstantRate(DataRate("32Mbps"), 1472);
    ApplicationContainer sources = source.Install(nodes);
    Ptr<UniformRandomVariable> start = CreateObject<UniformRandomVariable>();
    for (uint32_t i = 0; i < stations; i++)
    {
        sources.Get(i)->SetStartTime(Seconds(1 + start->GetValue(0, 0.1)));
    }
    uint64_t before = 0;
    Simulator::Schedule(Seconds(2), [&] { before = received->GetTotalRx(); });
    Simulator::Stop(Seconds(2 + seconds));
    Simulator::Run();
    // The headers of the IP packets count as goodput, as in the other tables.
    double packets = double(received->GetTotalRx() - before) / 1472;
    std::cout << packets * 1500 * 8 / seconds / 1e6 << std::endl;
    Simulator::Destroy();
    return 0;
}
