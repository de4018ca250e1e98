package quicgo

import (
	"context"
	"crypto/tls"
	_ "embed"
	"io"
	"math"
	"sync"
	"time"

	"github.com/quic-go/quic-go"
)

// The certificate of all stacks, whose signatures have a constant length (Ed25519).
var (
	//go:embed certificate.der
	certificate []byte
	//go:embed key.der
	key []byte
)

const (
	endless    = math.MaxUint64
	chunkBytes = 1 << 16
)

// end is one end of a connection, and the application above it.
type end struct {
	setup    setup
	settings settings
	zero     time.Time
	conn     *packetConn

	mutex      sync.Mutex
	connection *quic.Conn
	delivered  uint64
	completed  *uint64
	handshake  *uint64
	closed     *uint64
	reason     string
	responses  []float64
	datagrams  int
	// Length of the longest datagram that was sent: the MTU once its search has ended.
	longest    int
	window     uint64
	reductions uint64
	// Losses at the latest reduction of the window.
	lost uint64
}

// newEnd starts the goroutines of an end.
func newEnd(conn *packetConn, given setup, settings settings, zero time.Time) *end {
	e := &end{conn: conn, setup: given, settings: settings, zero: zero}
	go e.run()
	return e
}

// now returns the time of the run [ps].
func (e *end) now() *uint64 {
	now := uint64(time.Since(e.zero)) * psPerNs
	return &now
}

func (e *end) run() {
	var err error
	if e.settings.requests == (e.setup.Sends) {
		err = e.serve()
	} else {
		time.Sleep(time.Until(e.zero.Add(time.Duration(e.setup.StartPs / psPerNs))))
		err = e.connect()
	}
	e.mutex.Lock()
	defer e.mutex.Unlock()
	if err != nil {
		e.closed, e.reason = e.now(), err.Error()
	}
}

// config returns the library's defaults with the flow's settings.
func (e *end) config() *quic.Config {
	config := &quic.Config{}
	if window := e.settings.window; window > 0 {
		config.InitialStreamReceiveWindow, config.MaxStreamReceiveWindow = window, window
		config.InitialConnectionReceiveWindow, config.MaxConnectionReceiveWindow = window, window
	}
	return config
}

func (e *end) opened(connection *quic.Conn) {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	e.connection, e.handshake = connection, e.now()
}

// connect opens the connection, and runs the application of that end.
func (e *end) connect() error {
	transport := &quic.Transport{Conn: e.conn}
	config := &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"longpipe"}, ServerName: "longpipe.test"}
	connection, err := transport.Dial(context.Background(), serverAddress, config, e.config())
	if err != nil {
		return err
	}
	e.opened(connection)
	if !e.settings.requests {
		stream, err := connection.OpenUniStream()
		if err != nil {
			return err
		}
		return write(stream, e.settings.size)
	}
	for range e.settings.count {
		from := time.Now()
		stream, err := connection.OpenStream()
		if err != nil {
			return err
		}
		if err = write(stream, e.settings.request); err != nil {
			return err
		}
		if err = e.read(stream); err != nil {
			return err
		}
		e.mutex.Lock()
		e.responses = append(e.responses, time.Since(from).Seconds())
		e.mutex.Unlock()
	}
	e.complete()
	return nil
}

// serve accepts the connection, and runs the application of that end.
func (e *end) serve() error {
	transport := &quic.Transport{Conn: e.conn}
	parsed, err := parseKey(key)
	if err != nil {
		return err
	}
	config := &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{certificate}, PrivateKey: parsed}},
		NextProtos:   []string{"longpipe"},
	}
	listener, err := transport.Listen(config, e.config())
	if err != nil {
		return err
	}
	connection, err := listener.Accept(context.Background())
	if err != nil {
		return err
	}
	e.opened(connection)
	if !e.settings.requests {
		stream, err := connection.AcceptUniStream(context.Background())
		if err != nil {
			return err
		}
		if err = e.read(stream); err == nil {
			e.complete()
		}
		return err
	}
	for range e.settings.count {
		stream, err := connection.AcceptStream(context.Background())
		if err != nil {
			return err
		}
		if err = e.read(stream); err != nil {
			return err
		}
		if err = write(stream, e.settings.size); err != nil {
			return err
		}
	}
	return nil
}

func (e *end) complete() {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	e.completed = e.now()
}

// read counts the data of a stream up to its end.
func (e *end) read(stream io.Reader) error {
	buffer := make([]byte, chunkBytes)
	for {
		bytes, err := stream.Read(buffer)
		if !e.setup.Sends {
			e.mutex.Lock()
			e.delivered += uint64(bytes)
			e.mutex.Unlock()
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// write sends zeros and ends the stream.
func write(stream io.WriteCloser, size uint64) error {
	zeros := make([]byte, chunkBytes)
	for left := size; left > 0; {
		bytes, err := stream.Write(zeros[:min(left, chunkBytes)])
		if err != nil {
			return err
		}
		if size != endless {
			left -= uint64(bytes)
		}
	}
	return stream.Close()
}

// statistics returns the library's counters, and whether there is a connection.
func (e *end) statistics() (quic.ConnectionStats, bool) {
	if e.connection == nil {
		return quic.ConnectionStats{}, false
	}
	return e.connection.ConnectionStats(), true
}

// observe counts sent datagrams, and a reduction of the window after losses.
func (e *end) observe(sent [][]byte) {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	e.datagrams += len(sent)
	for _, payload := range sent {
		e.longest = max(e.longest, len(payload))
	}
	found, open := e.statistics()
	if !open {
		return
	}
	if found.CongestionWindow < e.window && found.PacketsLost > e.lost {
		e.reductions++
		e.lost = found.PacketsLost
	}
	e.window = found.CongestionWindow
}

// state returns the state of the sender.
func (e *end) state() senderState {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	found, open := e.statistics()
	if !open {
		return senderState{}
	}
	state := senderState{Cwnd: &found.CongestionWindow, SentPackets: found.PacketsSent, LostPackets: found.PacketsLost}
	if found.MinRTT > 0 {
		smoothed, min := uint64(found.SmoothedRTT)*psPerNs, uint64(found.MinRTT)*psPerNs
		state.SrttPs, state.MinRttPs = &smoothed, &min
	}
	return state
}

// report returns the counters of the end.
func (e *end) report() endReport {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	report := endReport{
		DeliveredBytes:   e.delivered,
		CompletedPs:      e.completed,
		HandshakePs:      e.handshake,
		ClosedPs:         e.closed,
		Closed:           e.reason,
		CongestionEvents: e.reductions,
		Values:           map[string]float64{},
	}
	if count := len(e.responses); count > 0 {
		sum, longest := 0.0, 0.0
		for _, seconds := range e.responses {
			sum, longest = sum+seconds, max(longest, seconds)
		}
		report.Values["responses"] = float64(count)
		report.Values["mean_response_s"] = sum / float64(count)
		report.Values["max_response_s"] = longest
	}
	found, open := e.statistics()
	if !open {
		return report
	}
	report.SentPackets, report.SentBytes = found.PacketsSent, found.BytesSent
	report.LostPackets, report.LostBytes = found.PacketsLost, found.BytesLost
	report.Values["cwnd_bytes"] = float64(found.CongestionWindow)
	report.Values["mtu_bytes"] = float64(e.longest)
	report.Values["datagrams"] = float64(e.datagrams)
	if found.MinRTT > 0 {
		report.Values["srtt_s"] = found.SmoothedRTT.Seconds()
		report.Values["min_rtt_s"] = found.MinRTT.Seconds()
	}
	return report
}
