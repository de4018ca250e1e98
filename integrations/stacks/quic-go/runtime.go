// Package quicgo runs quic-go as an end of longpipe's flows (docs/more-stacks.md): make stacks-quic-go.
//
// The end is a test binary, because testing/synctest and testing/cryptotest work in tests alone.
package quicgo

import _ "unsafe" // for go:linkname

//go:linkname nextTimer runtime.longpipeNextTimer
func nextTimer() int64

//go:linkname repeat runtime.longpipeRepeat
func repeat(seed uint64)

//go:linkname mayCollect runtime.longpipeMayCollect
func mayCollect()
