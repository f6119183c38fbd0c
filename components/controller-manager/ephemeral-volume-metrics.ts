/** The metrics of the ephemeral-volume controller (upstream: pkg/controller/volume/ephemeral/metrics). */
import type { Metrics } from '../component-base/metrics.ts'

export type EphemeralVolumeMetrics = ReturnType<typeof declareEphemeralVolumeMetrics>

export function declareEphemeralVolumeMetrics(metrics: Metrics) {
  const help = 'Number of PersistenVolumeClaims creation requests'
  return {
    created: metrics.counter({ name: 'ephemeral_volume_controller_create_total', help }),
    failed: metrics.counter({ name: 'ephemeral_volume_controller_create_failures_total', help }),
  }
}
