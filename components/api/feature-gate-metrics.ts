/** The metric of the feature gates, as every component that has some shows it. */
import type { Metrics } from '../component-base/metrics.ts'
import { featureGates, type FeatureGates } from './feature-gates.ts'

export function declareFeatureGates(metrics: Metrics, gates: FeatureGates): void {
  const enabled = metrics.gauge({
    name: 'kubernetes_feature_enabled',
    help: 'Whether a feature gate is on, by name and stage.',
    stability: 'BETA',
    labels: ['name', 'stage'],
  })
  for (const [name, isOn] of Object.entries(gates)) {
    const { stage } = featureGates[name as keyof FeatureGates]
    enabled.with(name, (stage as string) === 'GA' ? '' : stage).set(isOn ? 1 : 0)
  }
}
