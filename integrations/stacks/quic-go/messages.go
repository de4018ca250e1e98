package quicgo

import (
	"crypto"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

const psPerNs = 1000

// Names of the settings.
var names = []string{
	"congestion", "size", "workload", "requests", "request", "streams", "datagram", "interval_us", "window", "web", "early_data",
	"http3",
}

// Ranges of settings. A datagram contains a time, and fits into the shortest packet of each stack.
const (
	leastDatagram = 8
	mostDatagram  = 1100
	mostStreams   = 100_000
)

// setup is the first message of a run.
type setup struct {
	Version   int               `json:"version"`
	Sends     bool              `json:"sends"`
	Seed      uint64            `json:"seed"`
	StartPs   uint64            `json:"start_ps"`
	MostBytes int               `json:"most_bytes"`
	Settings  map[string]string `json:"settings"`
}

// senderState and endReport are answers; values that are not known are null.
type senderState struct {
	Cwnd        *uint64 `json:"cwnd"`
	SrttPs      *uint64 `json:"srtt_ps"`
	MinRttPs    *uint64 `json:"min_rtt_ps"`
	SentPackets uint64  `json:"sent_packets"`
	LostPackets uint64  `json:"lost_packets"`
}

type endReport struct {
	DeliveredBytes   uint64             `json:"delivered_bytes"`
	CompletedPs      *uint64            `json:"completed_ps"`
	SentPackets      uint64             `json:"sent_packets"`
	SentBytes        uint64             `json:"sent_bytes"`
	LostPackets      uint64             `json:"lost_packets"`
	LostBytes        uint64             `json:"lost_bytes"`
	CongestionEvents uint64             `json:"congestion_events"`
	HandshakePs      *uint64            `json:"handshake_ps"`
	ClosedPs         *uint64            `json:"closed_ps"`
	Closed           string             `json:"closed"`
	Values           map[string]float64 `json:"values"`
}

// settings are the settings of a flow. Sizes are in bytes.
type settings struct {
	requests bool
	size     uint64
	request  uint64
	count    uint64
	window   uint64
	// Concurrent streams, among which the size is divided.
	streams uint64
	// Length of a datagram, or 0, and the time between two.
	datagram   uint64
	intervalUs uint64
	// Whether the client resumes a session and sends in its first flight.
	earlyData bool
	// Requests of a web client, and whether they are framed as HTTP/3.
	isWeb bool
	web   []webRequest
	http3 bool
}

// webRequest is a request of a web client: its time [ps], its length, and that of its response.
type webRequest struct {
	atPs, request, response uint64
}

// share returns the length of one of the concurrent streams; the first ones carry what the division leaves.
func (s settings) share(index uint64) uint64 {
	share := s.size / s.streams
	switch {
	case s.size == endless:
		return endless
	case index < s.size%s.streams:
		return share + 1
	}
	return share
}

// parse reads the settings, or returns an error that names one.
func (s setup) parse() (settings, error) {
	unknown := ""
	for name := range s.Settings {
		if !slices.Contains(names, name) && (unknown == "" || name < unknown) {
			unknown = name
		}
	}
	if unknown != "" {
		return settings{}, fmt.Errorf("%s: unknown setting; needs %s", unknown, strings.Join(names, ", "))
	}
	if s.MostBytes < 1200 {
		return settings{}, fmt.Errorf("longest_packet: payloads of %d bytes; needs at least 1200 bytes", s.MostBytes)
	}
	if congestion, given := s.Settings["congestion"]; given && congestion != "reno" {
		return settings{}, fmt.Errorf("congestion: %s; needs reno", congestion)
	}
	found := settings{size: endless, request: 100, count: 1, streams: 10, datagram: 1000, intervalUs: 10_000}
	for name, to := range map[string]*uint64{
		"size": &found.size, "request": &found.request, "requests": &found.count, "window": &found.window,
		"streams": &found.streams, "datagram": &found.datagram, "interval_us": &found.intervalUs,
	} {
		text, given := s.Settings[name]
		if !given {
			continue
		}
		value, err := strconv.ParseUint(text, 10, 63)
		if err != nil {
			return found, fmt.Errorf("%s: %s; needs a whole number", name, text)
		}
		*to = value
	}
	for name, to := range map[string]*bool{"early_data": &found.earlyData, "http3": &found.http3} {
		switch flag := s.Settings[name]; flag {
		case "", "false":
		case "true":
			*to = true
		default:
			return found, fmt.Errorf("%s: %s; needs true or false", name, flag)
		}
	}
	if err := found.readWeb(s.Settings); err != nil {
		return found, err
	}
	return found, found.apply(s.Settings)
}

// readWeb reads the requests of a web client.
func (s *settings) readWeb(given map[string]string) error {
	var text string
	if text, s.isWeb = given["web"]; !s.isWeb {
		if s.http3 {
			return errors.New("http3: true; needs traffic with the field web")
		}
		return nil
	}
	for _, name := range []string{"workload", "size"} {
		if value, present := given[name]; present {
			return fmt.Errorf("%s: %s; needs to be absent with web traffic", name, value)
		}
	}
	for line := range strings.SplitSeq(text, ";") {
		var request webRequest
		if line == "" {
			continue
		}
		if _, err := fmt.Sscanf(line, "%d %d %d", &request.atPs, &request.request, &request.response); err != nil {
			return fmt.Errorf("web: %.60s; needs a time and two lengths", line)
		}
		s.web = append(s.web, request)
	}
	return nil
}

// apply completes the settings by those of the workload, and checks their ranges.
func (s *settings) apply(given map[string]string) error {
	switch workload := given["workload"]; workload {
	case "bulk", "":
		s.streams, s.datagram = 1, 0
	case "streams":
		s.datagram = 0
		if s.streams < 1 || s.streams > mostStreams {
			return fmt.Errorf("streams: %d; needs 1 to %d", s.streams, mostStreams)
		}
	case "requests":
		s.streams, s.datagram = 1, 0
		if s.requests = true; given["size"] == "" {
			return errors.New("size: absent; needs the length of a response in bytes")
		}
	case "datagrams":
		if s.datagram < leastDatagram || s.datagram > mostDatagram {
			return fmt.Errorf("datagram: %d; needs %d to %d bytes", s.datagram, leastDatagram, mostDatagram)
		}
		if s.intervalUs < 1 {
			return errors.New("interval_us: 0; needs at least 1")
		}
	default:
		return fmt.Errorf("workload: %s; needs bulk, streams, requests, datagrams", workload)
	}
	return nil
}

func parseKey(der []byte) (crypto.PrivateKey, error) { return x509.ParsePKCS8PrivateKey(der) }
