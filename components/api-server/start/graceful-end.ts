/** graceful-end: what a server does between the signal to end and the end of its listener. */
import type { Clock } from '../../component-base/clock.ts'
import { EndpointReconciler } from '../controllers/endpoint-reconciler.ts'
import type { OwnEndpoints } from './own-endpoints.ts'
import type { ServingParts } from './serving.ts'

/** A store that is out of reach does not keep the server from ending. */
const mostLeaveMs = 5000

/** Waits for `work`, but no longer than `ms`. */
async function atMost(ms: number, work: Promise<unknown>, clock: Clock): Promise<void> {
  const { promise: late, resolve } = Promise.withResolvers<void>()
  const cancel = clock.after(ms, resolve)
  try {
    await Promise.race([work, late])
  } finally {
    cancel()
  }
}

/** --shutdown-watch-termination-grace-period. */
export function watchGraceOf({ options }: ServingParts['settings']): number {
  return options['shutdown-watch-termination-grace-period']
}

/**
 * The steps of a shutdown before the listener closes (upstream: server/genericapiserver.go, lifecycle signals): /readyz fails
 * already. The server leaves its Service and serves on for the delay. Then it turns new requests away, if it is to, until those in
 * flight are answered and watches have ended.
 */
export async function endGracefully(
  { settings, inFlight, openWatches }: ServingParts,
  endpoints: OwnEndpoints,
): Promise<void> {
  const { options, clock } = settings
  const delayMs = options['shutdown-delay-duration']
  if (endpoints instanceof EndpointReconciler) {
    await atMost(mostLeaveMs, endpoints.leave(), clock)
  }
  if (delayMs > 0) await clock.sleep(delayMs)
  if (!options['shutdown-send-retry-after']) return
  const drained = Promise.all([inFlight.drain(), openWatches.endAll(watchGraceOf(settings), clock)])
  await atMost(options['request-timeout'] + watchGraceOf(settings), drained, clock)
}
