import { describe, expect, it } from 'vitest'
import {
  createMetrics,
  declareProcessMetrics,
  exponentialBuckets,
  metricState,
  showHiddenFault,
} from '../../components/component-base/metrics.ts'

describe('metrics', () => {
  it('shows counters, gauges and histograms as text, each with its stability level', () => {
    const metrics = createMetrics({ release: '1.32' })
    const requests = metrics.counter({
      name: 'apiserver_request_total',
      help: 'Requests.',
      stability: 'STABLE',
      labels: ['verb', 'code'],
    })
    requests.with('GET', '200').inc()
    requests.with('GET', '200').inc(2)
    requests.with('say "hi"\n', '500').inc()
    metrics.gauge({ name: 'depth', help: 'Depth.' }).set(3.5)
    const seconds = metrics.histogram({
      name: 'seconds',
      help: 'Time.',
      stability: 'BETA',
      buckets: [0.1, 1],
    })
    for (const value of [0.1, 0.5, 7]) seconds.observe(value)
    expect(metrics.text()).toBe(`# HELP apiserver_request_total [STABLE] Requests.
# TYPE apiserver_request_total counter
apiserver_request_total{verb="GET",code="200"} 3
apiserver_request_total{verb="say \\"hi\\"\\n",code="500"} 1
# HELP depth [ALPHA] Depth.
# TYPE depth gauge
depth 3.5
# HELP seconds [BETA] Time.
# TYPE seconds histogram
seconds_bucket{le="0.1"} 1
seconds_bucket{le="1"} 2
seconds_bucket{le="+Inf"} 3
seconds_sum 7.6
seconds_count 3
`)
  })

  it('names bounds as a Go server does, so that queries of one fit the other', () => {
    const metrics = createMetrics({ release: '1.32' })
    const names = (buckets: readonly number[]): (string | undefined)[] => {
      const name = `seconds_${buckets[0]}`
      metrics.histogram({ name, help: '', buckets }).observe(0)
      const lines = metrics.text().split('\n')
      return lines.flatMap((line) =>
        line.startsWith(`${name}_bucket`) ? [/le="(.*)"/.exec(line)?.[1]] : [],
      )
    }
    expect(names(exponentialBuckets(10e-9, 10, 6))).toEqual([
      '1e-08',
      '1e-07',
      '1e-06',
      '9.999999999999999e-06',
      '9.999999999999999e-05',
      '0.001',
      '+Inf',
    ])
    expect(names([0.0001, 0.5, 250_000, 1_000_000, 1_310_720])).toEqual([
      '0.0001',
      '0.5',
      '250000',
      '1e+06',
      '1.31072e+06',
      '+Inf',
    ])
  })

  it('refuses a second declaration and wrong labels', () => {
    const metrics = createMetrics({ release: '1.32' })
    const one = metrics.counter({ name: 'a', help: '', labels: ['x'] })
    expect(() => metrics.gauge({ name: 'a', help: '' })).toThrow('twice')
    expect(() => one.with('1', '2')).toThrow('1 labels')
    expect(() => one.inc()).toThrow('labels')
  })

  it('[VER-049] marks a deprecated metric in its description', () => {
    const metrics = createMetrics({ release: '1.32' })
    metrics.counter({ name: 'old', help: 'Old.', deprecatedFrom: '1.31' })
    expect(metrics.text()).toContain('# HELP old (Deprecated from 1.31) [ALPHA] Old.')
  })

  it('[VER-050] [VER-052] hides a metric three releases after its deprecation and drops it after four', () => {
    expect(['1.30', '1.29', '1.28'].map((from) => metricState(from, '1.32'))).toEqual([
      'shown',
      'hidden',
      'gone',
    ])
    const shownAt = (deprecatedFrom: string, showHidden: boolean): boolean => {
      const metrics = createMetrics({ release: '1.32', showHidden })
      metrics.counter({ name: 'old', help: '', deprecatedFrom }).inc()
      return metrics.text() !== ''
    }
    expect([shownAt('1.30', false), shownAt('1.29', false), shownAt('1.28', true)]).toEqual([
      true,
      false,
      false,
    ])
    expect(shownAt('1.29', true)).toBe(true)
  })

  it('shows hidden metrics for the previous version only', () => {
    expect(showHiddenFault('1.31', '1.32')).toBeUndefined()
    expect(showHiddenFault('1.30', '1.32')).toContain("'1.31'")
  })

  it('shows what a process can tell of itself', () => {
    const metrics = createMetrics({ release: '1.32' })
    declareProcessMetrics(metrics)
    expect(metrics.text()).toMatch(/\nprocess_resident_memory_bytes \d{6,}\n/)
  })
})
