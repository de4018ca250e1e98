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
var names = []string{"congestion", "size", "workload", "requests", "request", "window"}

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
	found := settings{size: endless, request: 100, count: 1}
	switch workload := s.Settings["workload"]; workload {
	case "requests":
		if found.requests = true; s.Settings["size"] == "" {
			return found, errors.New("size: absent; needs the length of a response in bytes")
		}
	case "bulk", "":
	default:
		return found, fmt.Errorf("workload: %s; needs bulk or requests", workload)
	}
	for name, to := range map[string]*uint64{
		"size": &found.size, "request": &found.request, "requests": &found.count, "window": &found.window,
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
	return found, nil
}

func parseKey(der []byte) (crypto.PrivateKey, error) { return x509.ParsePKCS8PrivateKey(der) }
