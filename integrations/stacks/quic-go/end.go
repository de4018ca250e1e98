package quicgo

import (
	"context"
	"crypto/tls"
	_ "embed"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"sync"
	"testing/synctest"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
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
	// Number of streams that the library permits by default.
	defaultStreams = 100
)

// Key with which servers encrypt the tickets of sessions, so that another one can resume them.
var ticketKey [32]byte

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
	// Times of responses, of concurrent streams or of datagrams [s].
	times     []float64
	sentCount uint64
	datagrams int
	// Length of the longest datagram that was sent: the MTU once its search has ended.
	longest    int
	window     uint64
	reductions uint64
	// Losses at the latest reduction of the window.
	lost uint64
	// Times at which this end had received the requests of a web client, or their responses [ps].
	files map[int]uint64
	// Sessions that a client resumes.
	sessions tls.ClientSessionCache
}

// newEnd starts the goroutines of an end.
func newEnd(conn *packetConn, given setup, settings settings, zero time.Time) (*end, error) {
	e := &end{conn: conn, setup: given, settings: settings, zero: zero, files: map[int]uint64{}}
	if settings.earlyData && !e.accepts() {
		var err error
		if e.sessions, err = e.obtainSession(); err != nil {
			return nil, err
		}
	}
	go e.run()
	return e, nil
}

// accepts returns whether this end accepts the connection.
func (e *end) accepts() bool { return (e.settings.requests || e.settings.isWeb) == e.setup.Sends }

// obtainSession connects to a server once before the run, without a path, and returns the session that it issues. Servers
// with the same key can resume it.
func (e *end) obtainSession() (tls.ClientSessionCache, error) {
	sessions := tls.NewLRUClientSessionCache(1)
	own, err := newPacketConn(e.setup.MostBytes)
	if err != nil {
		return nil, err
	}
	peer, err := newPacketConn(e.setup.MostBytes)
	if err != nil {
		return nil, err
	}
	server := &quic.Transport{Conn: peer}
	listener, err := e.listen(server)
	if err != nil {
		return nil, err
	}
	go func() { listener.Accept(context.Background()) }()
	transport := &quic.Transport{Conn: own}
	var connection *quic.Conn
	go func() {
		connection, err = transport.Dial(context.Background(), serverAddress, e.clientTLS(sessions), e.config())
	}()
	for moved := true; moved; {
		synctest.Wait()
		moved = own.passTo(peer)
		moved = peer.passTo(own) || moved
	}
	if err != nil || connection == nil {
		return nil, fmt.Errorf("no session before the run: %w", err)
	}
	connection.CloseWithError(0, "")
	synctest.Wait()
	own.passTo(peer)
	transport.Close()
	server.Close()
	synctest.Wait()
	return sessions, nil
}

// now returns the time of the run [ps].
func (e *end) now() *uint64 {
	now := uint64(time.Since(e.zero)) * psPerNs
	return &now
}

func (e *end) run() {
	var err error
	if e.accepts() {
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
	config := &quic.Config{Allow0RTT: e.settings.earlyData, EnableDatagrams: e.settings.datagram > 0}
	if e.settings.streams > defaultStreams {
		config.MaxIncomingUniStreams = int64(e.settings.streams)
	}
	if window := e.settings.window; window > 0 {
		config.InitialStreamReceiveWindow, config.MaxStreamReceiveWindow = window, window
		config.InitialConnectionReceiveWindow, config.MaxConnectionReceiveWindow = window, window
	}
	return config
}

// opened notes the connection, and the time of its handshake.
func (e *end) opened(connection *quic.Conn) {
	e.mutex.Lock()
	e.connection = connection
	e.mutex.Unlock()
	shaken := func() {
		<-connection.HandshakeComplete()
		e.mutex.Lock()
		defer e.mutex.Unlock()
		e.handshake = e.now()
	}
	if e.settings.earlyData {
		go shaken()
	} else {
		shaken()
	}
}

// protocols returns the protocols above QUIC.
func (e *end) protocols() []string {
	if e.settings.http3 {
		return []string{http3.NextProtoH3}
	}
	return []string{"longpipe"}
}

func (e *end) clientTLS(sessions tls.ClientSessionCache) *tls.Config {
	return &tls.Config{
		InsecureSkipVerify: true,
		NextProtos:         e.protocols(),
		ServerName:         "longpipe.test",
		ClientSessionCache: sessions,
	}
}

// connect opens the connection, and runs the application of that end.
func (e *end) connect() error {
	transport := &quic.Transport{Conn: e.conn}
	dial := transport.Dial
	if e.settings.earlyData {
		dial = transport.DialEarly
	}
	connection, err := dial(context.Background(), serverAddress, e.clientTLS(e.sessions), e.config())
	if err != nil {
		return err
	}
	e.opened(connection)
	if e.settings.isWeb {
		return e.requestFiles(connection)
	}
	if e.settings.datagram > 0 {
		return e.sendDatagrams(connection)
	}
	if !e.settings.requests {
		return e.sendStreams(connection)
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
		e.took(time.Since(from))
	}
	e.complete()
	return nil
}

// took counts a response, a stream or a datagram that was received.
func (e *end) took(duration time.Duration) {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	e.times = append(e.times, duration.Seconds())
}

// concurrently runs work for each of the concurrent streams, and returns the first error.
func (e *end) concurrently(work func(index uint64) error) error {
	done := make(chan error, e.settings.streams)
	for index := range e.settings.streams {
		go func() { done <- work(index) }()
	}
	for range e.settings.streams {
		if err := <-done; err != nil {
			return err
		}
	}
	return nil
}

func (e *end) sendStreams(connection *quic.Conn) error {
	return e.concurrently(func(index uint64) error {
		stream, err := connection.OpenUniStreamSync(context.Background())
		if err != nil {
			return err
		}
		return write(stream, e.settings.share(index))
	})
}

func (e *end) receiveStreams(connection *quic.Conn) error {
	return e.concurrently(func(uint64) error {
		stream, err := connection.AcceptUniStream(context.Background())
		if err != nil {
			return err
		}
		if err = e.read(stream); err == nil {
			e.took(time.Since(e.zero.Add(time.Duration(e.setup.StartPs / psPerNs))))
		}
		return err
	})
}

// sendDatagrams sends datagrams at regular times. Each begins with its time [ps].
func (e *end) sendDatagrams(connection *quic.Conn) error {
	at := time.Now()
	for left := e.settings.size; left > 0; left -= min(left, e.settings.datagram) {
		time.Sleep(time.Until(at))
		datagram := make([]byte, e.settings.datagram)
		binary.LittleEndian.PutUint64(datagram, uint64(at.Sub(e.zero))*psPerNs)
		// The library waits until its queue has room.
		if err := connection.SendDatagram(datagram); err != nil {
			return err
		}
		e.mutex.Lock()
		e.sentCount++
		e.mutex.Unlock()
		at = at.Add(time.Duration(e.settings.intervalUs) * time.Microsecond)
	}
	return nil
}

func (e *end) receiveDatagrams(connection *quic.Conn) error {
	for received := uint64(0); received < e.settings.size; {
		datagram, err := connection.ReceiveDatagram(context.Background())
		if err != nil {
			return err
		}
		received += uint64(len(datagram))
		e.took(time.Since(e.zero) - time.Duration(binary.LittleEndian.Uint64(datagram)/psPerNs))
		e.mutex.Lock()
		e.delivered = received
		e.mutex.Unlock()
	}
	return nil
}

// listener is one of both types of the library.
type listener interface {
	Accept(context.Context) (*quic.Conn, error)
}

// listen returns a server's listener, which accepts early data if it must.
func (e *end) listen(transport *quic.Transport) (listener, error) {
	parsed, err := parseKey(key)
	if err != nil {
		return nil, err
	}
	config := &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{certificate}, PrivateKey: parsed}},
		NextProtos:   e.protocols(),
	}
	if e.settings.earlyData {
		config.SetSessionTicketKeys([][32]byte{ticketKey})
		return transport.ListenEarly(config, e.config())
	}
	return transport.Listen(config, e.config())
}

// serve accepts the connection, and runs the application of that end.
func (e *end) serve() error {
	listener, err := e.listen(&quic.Transport{Conn: e.conn})
	if err != nil {
		return err
	}
	connection, err := listener.Accept(context.Background())
	if err != nil {
		return err
	}
	e.opened(connection)
	if e.settings.isWeb {
		return e.answerFiles(connection)
	}
	if !e.settings.requests {
		receive := e.receiveStreams
		if e.settings.datagram > 0 {
			receive = e.receiveDatagrams
		}
		if err = receive(connection); err == nil {
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
	e.reportApplication(report.Values)
	for number, at := range e.files {
		report.Values[fmt.Sprintf("file %d", number)] = float64(at)
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

// reportApplication adds the values about what the application has sent or received.
func (e *end) reportApplication(values map[string]float64) {
	count, noun := len(e.times), "stream"
	switch {
	case e.settings.datagram > 0 && e.setup.Sends:
		values["sent_datagrams"] = float64(e.sentCount)
	case e.settings.datagram > 0:
		values["received_datagrams"] = float64(count)
		noun = "datagram"
	case e.settings.requests && count > 0:
		values["responses"] = float64(count)
		noun = "response"
	case e.settings.streams == 1:
		return
	}
	if count == 0 {
		return
	}
	sum, longest := 0.0, 0.0
	for _, seconds := range e.times {
		sum, longest = sum+seconds, max(longest, seconds)
	}
	values["mean_"+noun+"_s"] = sum / float64(count)
	values["max_"+noun+"_s"] = longest
}
