package quicgo

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
)

// exchange sends a request of a web client, whose stream is open, and receives its response.
type exchange func(request webRequest) error

// requestFiles sends the requests of the web client when they are due, each in a stream of its own, and receives the
// responses.
func (e *end) requestFiles(connection *quic.Conn) error {
	open := e.openStream
	if e.settings.http3 {
		transport := http3.Transport{DisableCompression: true}
		client := transport.NewClientConn(connection)
		open = func(_ *quic.Conn, number int) (exchange, error) { return e.openRequest(client, number) }
	}
	done := make(chan error, len(e.settings.web))
	for number, request := range e.settings.web {
		time.Sleep(time.Until(e.zero.Add(time.Duration((request.atPs + psPerNs - 1) / psPerNs))))
		// Streams are opened in the order of the requests, so that their numbers are those of the requests.
		send, err := open(connection, number)
		if err != nil {
			return err
		}
		go func() {
			err := send(request)
			if err == nil {
				e.receivedFile(number)
			}
			done <- err
		}()
	}
	for range e.settings.web {
		if err := <-done; err != nil {
			return err
		}
	}
	e.complete()
	return nil
}

// openStream opens a stream for a request without the framing of HTTP/3.
func (e *end) openStream(connection *quic.Conn, _ int) (exchange, error) {
	stream, err := connection.OpenStreamSync(context.Background())
	return func(request webRequest) error {
		if err := write(stream, request.request); err != nil {
			return err
		}
		return e.read(stream)
	}, err
}

// openRequest opens a stream for a request of HTTP/3.
func (e *end) openRequest(client *http3.ClientConn, number int) (exchange, error) {
	stream, err := client.OpenRequestStream(context.Background())
	return func(webRequest) error {
		message, err := http.NewRequest(http.MethodGet, fmt.Sprintf("https://longpipe.test/%d", number), nil)
		if err != nil {
			return err
		}
		if err = stream.SendRequestHeader(message); err != nil {
			return err
		}
		if err = stream.Close(); err != nil {
			return err
		}
		response, err := stream.ReadResponse()
		if err != nil {
			return err
		}
		return e.read(response.Body)
	}, err
}

// answerFiles answers the requests of the web client.
func (e *end) answerFiles(connection *quic.Conn) error {
	if e.settings.http3 {
		server := http3.Server{Handler: http.HandlerFunc(e.answerRequest)}
		return server.ServeQUICConn(connection)
	}
	for range e.settings.web {
		stream, err := connection.AcceptStream(context.Background())
		if err != nil {
			return err
		}
		go e.answerStream(stream)
	}
	return nil
}

// answerStream receives a request, and sends its response; an error ends the connection at the client.
func (e *end) answerStream(stream *quic.Stream) {
	// The client numbers its streams in both directions 0, 4, 8 and so on (RFC 9000 section 2.1).
	number := int(stream.StreamID() / 4)
	if e.read(stream) != nil || number >= len(e.settings.web) {
		return
	}
	e.receivedFile(number)
	write(stream, e.settings.web[number].response)
}

func (e *end) answerRequest(writer http.ResponseWriter, request *http.Request) {
	number, err := strconv.Atoi(strings.TrimPrefix(request.URL.Path, "/"))
	if err != nil || number < 0 || number >= len(e.settings.web) {
		http.NotFound(writer, request)
		return
	}
	e.receivedFile(number)
	left := e.settings.web[number].response
	writer.Header().Set("Content-Length", strconv.FormatUint(left, 10))
	writer.Header().Set("Content-Type", "application/octet-stream")
	zeros := make([]byte, chunkBytes)
	for left > 0 {
		bytes, err := writer.Write(zeros[:min(left, chunkBytes)])
		if err != nil {
			return
		}
		left -= uint64(bytes)
	}
}

// receivedFile notes the time at which a request, or its response, was received.
func (e *end) receivedFile(number int) {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	e.files[number] = *e.now()
}
