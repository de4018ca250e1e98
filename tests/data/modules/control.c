/*
 * A controller for longpipe_control.h: slow start, then `gain` segments per round trip; a loss or a mark leaves `beta` of the
 * window. The same controller in Rust is control.rs.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdlib.h>

#include "longpipe_control.h"

static double beta = 0.5;
static int64_t gain = 1;

static int set_beta(const struct longpipe_parameter *self, const void *value)
{
	double wanted = *(const double *)value;

	(void)self;
	if (wanted <= 0 || wanted >= 1)
		return -1;
	beta = wanted;
	return 0;
}

static int set_gain(const struct longpipe_parameter *self, const void *value)
{
	(void)self;
	gain = *(const int64_t *)value;
	return gain >= 1 ? 0 : -1;
}

LONGPIPE_PARAMETER_FACT(beta, real)
LONGPIPE_PARAMETER_FACT(gain, integer)

static const struct longpipe_parameter known[] = {
	{.name = "beta", .type = LONGPIPE_REAL, .set = set_beta},
	{.name = "gain", .type = LONGPIPE_INTEGER, .set = set_gain},
	{.name = 0},
};

static const struct longpipe_parameter *parameters(void) { return known; }

/* State of a connection: the number of window reductions. */
struct flow {
	uint64_t reductions;
};

static void *create(const struct longpipe_connection *connection)
{
	(void)connection;
	return calloc(1, sizeof(struct flow));
}

static void on_ack(void *state, const struct longpipe_ack *ack, const struct longpipe_flight *flight,
		   struct longpipe_grant *grant)
{
	(void)state;
	if (!ack->grows)
		return;
	if (flight->cwnd < flight->ssthresh)
		grant->window = flight->cwnd + (double)ack->acked;
	else
		grant->window = flight->cwnd + (double)gain * flight->mss * (double)ack->acked / flight->cwnd;
}

static void on_reduction(void *state, enum longpipe_cause cause, const struct longpipe_flight *flight,
			 struct longpipe_grant *grant)
{
	struct flow *flow = state;

	flow->reductions++;
	grant->ssthresh = flight->cwnd * beta;
	grant->window = cause == LONGPIPE_TIMEOUT ? flight->mss : grant->ssthresh;
}

LONGPIPE_CONTROL(.name = "mine", .parameters = parameters, .create = create, .destroy = free, .on_ack = on_ack,
		 .on_reduction = on_reduction);
