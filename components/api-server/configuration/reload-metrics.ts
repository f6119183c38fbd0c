/** Metrics of reloaded configurations (upstream: server/options/{authentication,authorization}config/metrics). */
import { createHash } from 'node:crypto'
import type { Clock } from '../../component-base/clock.ts'
import type { Metrics } from '../../component-base/metrics.ts'

/** The hash of the configuration in use, to compare the servers of a cluster (AUTHZ-037). */
export function showConfigurationHash(
  metrics: Metrics,
  options: { subsystem: 'authentication' | 'authorization'; serverId: string },
): (content: string) => void {
  const { subsystem, serverId } = options
  const info = metrics.gauge({
    name: `apiserver_${subsystem}_config_controller_last_config_info`,
    help: `Information about the last applied ${subsystem} configuration with hash as label, split by apiserver identity.`,
    labels: ['apiserver_id_hash', 'hash'],
  })
  return (content) => {
    info.reset()
    info.with(digest(serverId), digest(content)).set(1)
  }
}

const digest = (text: string): string => `sha256:${createHash('sha256').update(text).digest('hex')}`

/** Counts one reload and notes its time. `serverId` distinguishes the servers of a cluster; the metric shows its digest. */
export function createReloadMetrics(
  metrics: Metrics,
  options: { subsystem: 'authentication' | 'authorization'; serverId: string; clock: Clock },
): (outcome: 'success' | 'failure') => void {
  const { subsystem, serverId, clock } = options
  const prefix = `apiserver_${subsystem}_config_controller_automatic_reload`
  const labels = ['status', 'apiserver_id_hash']
  const total = metrics.counter({
    name: `${prefix}s_total`,
    help: `Total number of automatic reloads of ${subsystem} configuration split by status and apiserver identity.`,
    labels,
  })
  const last = metrics.gauge({
    name: `${prefix}_last_timestamp_seconds`,
    help: `Timestamp of the last automatic reload of ${subsystem} configuration split by status and apiserver identity.`,
    labels,
  })
  const id = digest(serverId)
  return (outcome) => {
    total.with(outcome, id).inc()
    last.with(outcome, id).set(clock.now() / 1000)
  }
}
