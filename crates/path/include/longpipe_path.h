/* A simulated path in virtual time, as the network of a test (docs/embed.md). Implemented by crates/path/src/c.rs.
 *
 * Times are in picoseconds since the start of the run. The functions of one path must not be called at the same time.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef LONGPIPE_PATH_H
#define LONGPIPE_PATH_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LONGPIPE_PATH_LINE 256

struct longpipe_path;

/* What became of a packet. */
struct longpipe_path_outcome {
    uint64_t at_ps;     /* time of the delivery or loss */
    uint64_t id;        /* number of the packet */
    uint32_t delivered; /* 1 if the packet is delivered, 0 if it is lost */
    uint32_t marked;    /* 1 if the path has marked the packet with CE */
};

/* Returns the path at time zero for a resolved scenario (JSON), or NULL and a line in `problem`. */
struct longpipe_path *longpipe_path_new(const char *scenario, uint64_t seed, char problem[LONGPIPE_PATH_LINE]);

void longpipe_path_free(struct longpipe_path *path);

/* Lets an IP packet of `bytes` with the two ECN bits of its header enter at `at_ps`, or at the current time if that is later. Circuit
 * 2f leads from the sender of flow f to its receiver, 2f + 1 back. Returns the packet's number, counted from 0. */
uint64_t longpipe_path_enter(struct longpipe_path *path, uint64_t at_ps, uint32_t circuit, uint16_t bytes, uint32_t ecn);

/* Returns the time of the path's next event if nothing enters before; no packet is delivered or lost earlier. */
uint64_t longpipe_path_due(struct longpipe_path *path);

/* Advances to `to_ps`, and writes up to `room` outcomes that have not been read yet, in order. Returns their number; if it equals
 * `room`, there may be more. */
size_t longpipe_path_advance(struct longpipe_path *path, uint64_t to_ps, struct longpipe_path_outcome *outcomes, size_t room);

/* Returns a hash over all outcomes so far. */
uint64_t longpipe_path_decisions(struct longpipe_path *path);

#ifdef __cplusplus
}
#endif

#endif
