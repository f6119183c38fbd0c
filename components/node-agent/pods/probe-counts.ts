/** ProbeCounts: the probes of a node's containers, as `/metrics/probes` shows them (upstream: pkg/kubelet/prober/prober_manager.go). */
import { servedRelease } from '../../api/lifecycle.ts'
import type { Pod } from '../../api/generated/types.ts'
import type { Metrics } from '../../component-base/metrics.ts'
import { createMetrics } from '../../component-base/metrics.ts'
import type { ProbeKind } from '../runtime/container-runtime.ts'

const titles = { startup: 'Startup', readiness: 'Readiness', liveness: 'Liveness' } as const

/** What one look found. */
export interface CountedProbe {
  readonly pod: Pod
  readonly container: string
  readonly kind: ProbeKind
  readonly passes: boolean
}

export class ProbeCounts {
  /** By the pod's uid, then by the values of `labels`. */
  readonly #counts = new Map<string, Map<string, { labels: string[]; value: number }>>()

  count({ pod, container, kind, passes }: CountedProbe): void {
    const { uid = '', namespace = '', name = '' } = pod.metadata
    const result = passes ? 'successful' : 'failed'
    const labels = [container, namespace, name, uid, titles[kind], result]
    const counts = this.#counts.get(uid) ?? new Map()
    this.#counts.set(uid, counts)
    const key = `${container} ${kind} ${result}`
    counts.set(key, { labels, value: (counts.get(key)?.value ?? 0) + 1 })
  }

  /** `/metrics/probes`. Forgets pods that are not among these. */
  metrics(pods: readonly Pod[]): Metrics {
    const here = new Set(pods.map(({ metadata }) => metadata.uid))
    for (const uid of this.#counts.keys()) if (!here.has(uid)) this.#counts.delete(uid)
    const metrics = createMetrics({ release: servedRelease, showHidden: false })
    metrics.observed(
      {
        kind: 'counter',
        name: 'prober_probe_total',
        help: 'Cumulative number of a liveness, readiness or startup probe for a container by result.',
        labels: ['container', 'namespace', 'pod', 'pod_uid', 'probe_type', 'result'],
        stability: 'BETA',
      },
      () => [...this.#counts.values()].flatMap((counts) => [...counts.values()]),
    )
    return metrics
  }
}
