package quicgo

import (
	"net"
	"os"
	"sync"
	"syscall"
	"testing/synctest"
	"time"
)

// packetConn is a socket whose datagrams come from the run and go to it.
type packetConn struct {
	arrived chan []byte
	longest int
	mutex   sync.Mutex
	// Datagrams that quic-go has sent since the latest take.
	sent [][]byte
	// Closed when the read deadline, which quic-go sets only to end, has passed.
	expired chan struct{}
	// A socket of the kernel that carries nothing. The library searches the MTU only if it can set an option of it.
	unused int
}

var (
	serverAddress = &net.UDPAddr{IP: net.IPv4(10, 0, 0, 2), Port: 443}
	localAddress  = &net.UDPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 443}
)

func newPacketConn(longest int) (*packetConn, error) {
	unused, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_DGRAM, 0)
	return &packetConn{arrived: make(chan []byte), longest: longest, expired: make(chan struct{}), unused: unused}, err
}

// SyscallConn returns the unused socket.
func (c *packetConn) SyscallConn() (syscall.RawConn, error) { return unusedConn(c.unused), nil }

type unusedConn int

func (c unusedConn) Control(set func(uintptr)) error { set(uintptr(c)); return nil }
func (unusedConn) Read(func(uintptr) bool) error     { return syscall.ENOSYS }
func (unusedConn) Write(func(uintptr) bool) error    { return syscall.ENOSYS }

// pending returns whether quic-go has sent datagrams since the latest take.
func (c *packetConn) pending() bool {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return len(c.sent) > 0
}

// take returns the datagrams sent since the previous call.
func (c *packetConn) take() [][]byte {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	sent := c.sent
	c.sent = nil
	return sent
}

// passTo passes what was sent to another socket, in the bubble. Returns whether there was anything.
func (c *packetConn) passTo(other *packetConn) bool {
	sent := c.take()
	for _, payload := range sent {
		other.arrived <- payload
		synctest.Wait()
	}
	return len(sent) > 0
}

func (c *packetConn) ReadFrom(to []byte) (int, net.Addr, error) {
	select {
	case payload := <-c.arrived:
		return copy(to, payload), c.peer(), nil
	case <-c.expired:
		return 0, nil, os.ErrDeadlineExceeded
	}
}

func (c *packetConn) WriteTo(payload []byte, _ net.Addr) (int, error) {
	// Longer datagrams do not pass the path's MTU.
	if len(payload) <= c.longest {
		c.mutex.Lock()
		defer c.mutex.Unlock()
		c.sent = append(c.sent, append([]byte(nil), payload...))
	}
	return len(payload), nil
}

// peer returns the address of the other end: at both ends, the address that a server has for its client.
func (c *packetConn) peer() net.Addr { return serverAddress }

func (c *packetConn) LocalAddr() net.Addr { return localAddress }

func (c *packetConn) SetReadDeadline(at time.Time) error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	select {
	case <-c.expired:
	default:
		if !at.IsZero() {
			close(c.expired)
		}
	}
	return nil
}

func (c *packetConn) Close() error                     { return c.SetReadDeadline(time.Now()) }
func (c *packetConn) SetDeadline(time.Time) error      { return nil }
func (c *packetConn) SetWriteDeadline(time.Time) error { return nil }
func (c *packetConn) SetReadBuffer(int) error          { return nil }
func (c *packetConn) SetWriteBuffer(int) error         { return nil }
