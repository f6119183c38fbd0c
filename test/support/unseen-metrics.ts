/** Metrics of controllers that a test does not look at. */
import { dialects } from '../../components/api/dialect.ts'
import { servedRelease } from '../../components/api/lifecycle.ts'
import { createMetrics } from '../../components/component-base/metrics.ts'
import { declareControllerMetrics } from '../../components/controller-manager/controller-metrics.ts'
import type { ControllerMetrics } from '../../components/controller-manager/controller-metrics.ts'

export function unseenMetrics(): ControllerMetrics {
  return declareControllerMetrics(createMetrics({ release: servedRelease }), dialects.kubernetes)
}
