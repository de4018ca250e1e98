package quicgo

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"syscall"
	"testing"
	"testing/cryptotest"
	"testing/synctest"
	"time"
	"unsafe"
)

// Messages of docs/own-stacks.md, "The protocol".
const (
	setUp = iota
	receive
	wake
	state
	report
)

const (
	done = iota
	send
	answer
	failed
)

const (
	protocolVersion = 1
	never           = ^uint64(0)
	// Bytes of payloads after which garbage is collected, at a point that is the same in each run.
	collectAfter = 64 << 20
)

// TestEnd is the program: it reads messages from standard input and answers on what was its standard output. Whatever
// the testing package prints goes to standard error.
func TestEnd(t *testing.T) {
	output, err := syscall.Dup(1)
	if err == nil {
		err = syscall.Dup2(2, 1)
	}
	if err != nil {
		t.Fatal(err)
	}
	wire := wire{bufio.NewReaderSize(descriptor(0), 1<<16), bufio.NewWriterSize(descriptor(output), 1<<16)}
	os.Setenv("QUIC_GO_DISABLE_RECEIVE_BUFFER_WARNING", "true") // This socket has no buffer.
	runtime.GOMAXPROCS(1)
	debug.SetGCPercent(-1)
	kind, body := wire.read()
	var given setup
	if err = json.Unmarshal(body, &given); err != nil || kind != setUp || given.Version != protocolVersion {
		wire.fail(fmt.Errorf("message %d of version %d; this program has version %d", kind, given.Version, protocolVersion))
	}
	settings, err := given.parse()
	if err != nil {
		wire.fail(err)
	}
	cryptotest.SetGlobalRandom(t, given.Seed)
	synctest.Test(t, func(*testing.T) { serve(wire, given, settings) })
}

// serve answers messages in a bubble, whose time is that of the run, until the run ends.
func serve(wire wire, given setup, settings settings) {
	zero := time.Now()
	repeat(given.Seed)
	conn, err := newPacketConn(given.MostBytes)
	if err != nil {
		wire.fail(err)
	}
	end, err := newEnd(conn, given, settings, zero)
	if err != nil {
		wire.fail(err)
	}
	synctest.Wait()
	wire.write(done, due(conn, zero))
	var payloads [][]byte
	collected, step := 0, given.Seed
	for {
		wire.flush()
		kind, body := wire.read()
		step++
		repeat(step)
		switch kind {
		case receive:
			// The run wakes this end at the same time, after all packets of that time.
			payloads = append(payloads, append([]byte(nil), body[9:]...))
			collected += len(body)
		case wake:
			now := zero.Add(time.Duration(binary.LittleEndian.Uint64(body) / psPerNs))
			time.Sleep(time.Until(now))
			synctest.Wait()
			for _, payload := range payloads {
				conn.arrived <- payload
				synctest.Wait()
			}
			payloads = payloads[:0]
			sent := conn.take()
			end.observe(sent)
			for _, payload := range sent {
				collected += len(payload)
				wire.write(send, []byte{0}, payload)
			}
			wire.write(done, due(conn, zero))
		case state:
			wire.answer(end.state())
		case report:
			wire.answer(end.report())
		default:
			wire.fail(fmt.Errorf("unknown message %d; this program has version %d of the protocol", kind, protocolVersion))
		}
		if collected > collectAfter {
			collected = 0
			mayCollect()
			runtime.GC()
			synctest.Wait()
		}
	}
}

// due returns the time of the bubble's next timer, or the current one if there is something to send [ps].
func due(conn *packetConn, zero time.Time) []byte {
	at := never
	if conn.pending() {
		at = uint64(time.Since(zero)) * psPerNs
	} else if next := nextTimer(); next != 0 {
		at = uint64(max(next, time.Now().UnixNano())-zero.UnixNano()) * psPerNs
	}
	return binary.LittleEndian.AppendUint64(nil, at)
}

// descriptor reads and writes without the scheduler, which would pass the processor to another thread during each call.
type descriptor int

func (d descriptor) call(number uintptr, bytes []byte) (int, error) {
	if len(bytes) == 0 {
		return 0, nil
	}
	for {
		count, _, errno := syscall.RawSyscall(number, uintptr(d), uintptr(unsafe.Pointer(&bytes[0])), uintptr(len(bytes)))
		switch errno {
		case syscall.EINTR:
		case 0:
			return int(count), nil
		default:
			return 0, errno
		}
	}
}

func (d descriptor) Read(bytes []byte) (int, error) {
	count, err := d.call(syscall.SYS_READ, bytes)
	if count == 0 && err == nil && len(bytes) > 0 {
		err = io.EOF
	}
	return count, err
}

func (d descriptor) Write(bytes []byte) (int, error) {
	written := 0
	for written < len(bytes) {
		count, err := d.call(syscall.SYS_WRITE, bytes[written:])
		if err != nil {
			return written, err
		}
		written += count
	}
	return written, nil
}

// wire reads and writes messages.
type wire struct {
	in  *bufio.Reader
	out *bufio.Writer
}

func (w wire) read() (byte, []byte) {
	var head [5]byte
	if _, err := io.ReadFull(w.in, head[:]); err != nil {
		os.Exit(0) // The run is over.
	}
	body := make([]byte, binary.LittleEndian.Uint32(head[:])-1)
	if _, err := io.ReadFull(w.in, body); err != nil {
		os.Exit(0)
	}
	return head[4], body
}

func (w wire) write(kind byte, parts ...[]byte) {
	length := 1
	for _, part := range parts {
		length += len(part)
	}
	w.out.Write(append(binary.LittleEndian.AppendUint32(nil, uint32(length)), kind))
	for _, part := range parts {
		w.out.Write(part)
	}
}

func (w wire) answer(value any) {
	text, err := json.Marshal(value)
	if err != nil {
		w.fail(err)
	}
	w.write(answer, text)
}

// fail reports an error, after which the run ends this program.
func (w wire) fail(err error) {
	w.write(failed, []byte(err.Error()))
	w.flush()
	io.Copy(io.Discard, w.in)
	os.Exit(0)
}

func (w wire) flush() {
	if w.out.Flush() != nil {
		os.Exit(0)
	}
}
