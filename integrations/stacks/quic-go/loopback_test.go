package quicgo

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/quic-go/quic-go"
)

// Bytes of the transfer of BenchmarkLoopback.
const loopbackBytes = 250_000_000

// BenchmarkLoopback transfers data over the library's own UDP sockets, in real time, for benches/more_stacks.py. It
// reports the packets that the sender sent for each second of CPU time.
func BenchmarkLoopback(b *testing.B) {
	server := listenLoopback(b)
	parsed, err := parseKey(key)
	if err != nil {
		b.Fatal(err)
	}
	certificates := []tls.Certificate{{Certificate: [][]byte{certificate}, PrivateKey: parsed}}
	listener, err := server.Listen(&tls.Config{Certificates: certificates, NextProtos: []string{"longpipe"}}, nil)
	if err != nil {
		b.Fatal(err)
	}
	received := make(chan error)
	go func() { received <- receiveOne(listener) }()
	before := cpuTime()
	config := &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"longpipe"}, ServerName: "longpipe.test"}
	connection, err := listenLoopback(b).Dial(context.Background(), listener.Addr(), config, nil)
	if err != nil {
		b.Fatal(err)
	}
	stream, err := connection.OpenUniStream()
	if err != nil {
		b.Fatal(err)
	}
	if err = write(stream, loopbackBytes); err == nil {
		err = <-received
	}
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(connection.ConnectionStats().PacketsSent)/(cpuTime()-before).Seconds(), "packets/CPU-s")
}

func listenLoopback(b *testing.B) *quic.Transport {
	conn, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		b.Fatal(err)
	}
	return &quic.Transport{Conn: conn}
}

// receiveOne accepts a connection, and reads its first stream to the end.
func receiveOne(listener *quic.Listener) error {
	connection, err := listener.Accept(context.Background())
	if err != nil {
		return err
	}
	stream, err := connection.AcceptUniStream(context.Background())
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, stream)
	return err
}

// cpuTime returns the CPU time of the process.
func cpuTime() time.Duration {
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
