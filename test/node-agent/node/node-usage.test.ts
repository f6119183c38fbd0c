/** What a node says that its containers use: `/stats/summary`, `/metrics/resource`, `/metrics/cadvisor`, `/metrics/probes`. */
import { expect, test } from 'vitest'
import type { PodSpec } from '../../../components/api/generated/types.ts'
import { nodeUsage } from '../../../components/node-agent/node/node-usage.ts'
import { statsSummary } from '../../../components/node-agent/node/stats-summary.ts'
import {
  cadvisorMetrics,
  resourceMetrics,
} from '../../../components/node-agent/node/usage-metrics.ts'
import { ProbeCounts } from '../../../components/node-agent/pods/probe-counts.ts'
import { FakeClock, settle } from '../../support/fake-clock.ts'
import { pod, runPod } from '../build.ts'

const mebi = 1024 * 1024

/** One pod on one node. */
async function start(annotations: Record<string, string>, spec: Partial<PodSpec> = {}) {
  const clock = new FakeClock()
  const startedMs = clock.now()
  const run = await runPod(pod('web', spec, annotations), { clock })
  const usage = () =>
    nodeUsage({
      nodeName: 'n1',
      startedMs,
      nowMs: clock.now(),
      pods: [run.worker.pod],
      container: (_namespace, _pod, container) => run.worker.container(container),
      runtime: run.runtime,
      capacity: { cpu: '4', memory: '8Gi' },
    })
  return {
    ...run,
    clock,
    usage,
    /** Of the one container. */
    container: () => usage().pods[0]?.containers[0]?.usage,
    ask: async (count: number): Promise<void> => {
      for (let n = 0; n < count; n += 1) {
        const connection = await run.runtime.connect('uid-web', 80)
        connection.write('GET / HTTP/1.1\r\nhost: web\r\nconnection: close\r\n\r\n')
        for await (const _ of connection) break
      }
    },
  }
}

const resources = (requests: object, limits: object): Partial<PodSpec> => ({
  containers: [{ name: 'main', image: 'app:1', resources: { requests, limits } as never }],
})

test('a container without annotations uses a little, and so does the node itself', async () => {
  const { clock, container, usage } = await start({})
  await clock.step(100_000)
  expect(container()?.cores).toBeCloseTo(0.001, 9)
  expect(container()?.coreSeconds).toBeCloseTo(0.1, 9)
  expect(container()?.memoryBytes).toBe(8 * mebi)
  const node = usage()
  expect(node.cores).toBeCloseTo(0.021, 9)
  expect(node.coreSeconds).toBeCloseTo(2.1, 9)
  expect(node.memoryBytes).toBe(108 * mebi)
})

test('steps count from the start of the container, and CPU is the average of ten seconds', async () => {
  const { clock, container } = await start({
    'skiff.dev/cpu-usage': '100m for 1m, 900m for 1m',
    'skiff.dev/memory-usage': '10Mi for 1m, 20Mi for 1m',
  })
  await clock.step(59_000)
  expect(container()).toMatchObject({ memoryBytes: 10 * mebi })
  expect(container()?.cores).toBeCloseTo(0.1, 6)
  await clock.step(6000)
  expect(container()).toMatchObject({ memoryBytes: 20 * mebi })
  expect(container()?.cores).toBeCloseTo(0.5, 6)
  await clock.step(115_000)
  expect(container()?.cores).toBeCloseTo(0.1, 6)
  expect(container()?.coreSeconds).toBeCloseTo(6 + 54 + 6, 6)
})

test('percentages are of the request, whatever the limit', async () => {
  const { clock, container } = await start(
    { 'skiff.dev/cpu-usage': '80%', 'skiff.dev/memory-usage': '150%' },
    resources({ cpu: '500m', memory: '64Mi' }, { cpu: '1', memory: '128Mi' }),
  )
  await clock.step(20_000)
  expect(container()?.cores).toBeCloseTo(0.4, 9)
  expect(container()?.memoryBytes).toBe(96 * mebi)
})

test('CPU above the limit is not counted either', async () => {
  const { clock, container } = await start(
    { 'skiff.dev/cpu-usage': '3' },
    resources({}, { cpu: '500m' }),
  )
  await clock.step(20_000)
  expect(container()).toMatchObject({ cores: 0.5, coreSeconds: 10 })
})

test('HTTP requests that it answers add to its usage for ten seconds', async () => {
  const { clock, container, ask } = await start({
    'skiff.dev/listen': '80',
    'skiff.dev/cpu-usage': '10m + 50m per request',
    'skiff.dev/memory-usage': '10Mi + 1Mi per request',
  })
  await clock.step(60_000)
  expect(container()?.cores).toBeCloseTo(0.01, 9)
  await ask(20)
  await clock.step(1000)
  // Twenty requests of 50 ms of CPU each, in ten seconds.
  expect(container()?.cores).toBeCloseTo(0.11, 9)
  expect(container()?.memoryBytes).toBe(12 * mebi)
  expect(container()?.coreSeconds).toBeCloseTo(0.61 + 1, 9)
  await clock.step(10_000)
  expect(container()?.cores).toBeCloseTo(0.01, 9)
  expect(container()?.coreSeconds).toBeCloseTo(0.71 + 1, 9)
})

test('an annotation that changes counts from now on', async () => {
  const { clock, container, change } = await start({ 'skiff.dev/cpu-usage': '1' })
  await clock.step(10_000)
  expect(container()?.coreSeconds).toBeCloseTo(10, 6)
  await change(({ metadata }) => {
    metadata.annotations = { 'skiff.dev/cpu-usage': '2' }
  })
  await clock.step(10_000)
  expect(container()).toMatchObject({ cores: 2 })
  expect(container()?.coreSeconds).toBeCloseTo(30, 6)
})

test("the node's CPU time never falls, also when containers end", async () => {
  const { clock, usage, runtime, container, last } = await start({ 'skiff.dev/cpu-usage': '1' })
  await clock.step(30_000)
  const before = usage().coreSeconds
  const [status] = last.containerStatuses ?? []
  await runtime.stopContainer(status?.containerID?.split('://')[1] ?? '', 0)
  await settle()
  expect(container()?.coreSeconds ?? 0).toBeLessThan(1)
  expect(usage().coreSeconds).toBeGreaterThanOrEqual(before)
})

test('/stats/summary has nodes, pods and containers in nanocores and bytes', async () => {
  const { clock, usage } = await start({ 'skiff.dev/cpu-usage': '250m' })
  await clock.step(40_000)
  const figures = {
    cpu: { usageNanoCores: 250_000_000, usageCoreNanoSeconds: 10_000_000_000 },
    memory: { workingSetBytes: 8 * mebi },
  }
  expect(statsSummary('n1', usage())).toMatchObject({
    node: {
      nodeName: 'n1',
      cpu: { usageNanoCores: 270_000_000 },
      memory: { workingSetBytes: 108 * mebi, availableBytes: (8192 - 108) * mebi },
    },
    pods: [
      {
        podRef: { name: 'web', namespace: 'default', uid: 'uid-web' },
        ...figures,
        containers: [{ name: 'main', ...figures }],
      },
    ],
  })
})

test('/metrics/resource and /metrics/cadvisor have the same figures', async () => {
  const { clock, usage } = await start({ 'skiff.dev/cpu-usage': '250m' })
  await clock.step(40_000)
  const resource = resourceMetrics(usage()).text()
  const ofPod = '{namespace="default",pod="web"}'
  const ofContainer = '{container="main",namespace="default",pod="web"}'
  expect(resource).toContain(`container_cpu_usage_seconds_total${ofContainer} 10\n`)
  expect(resource).toContain(`container_memory_working_set_bytes${ofContainer} ${8 * mebi}\n`)
  expect(resource).toContain(`pod_cpu_usage_seconds_total${ofPod} 10\n`)
  expect(resource).toContain('node_cpu_usage_seconds_total 10.8\n')
  expect(resource).toContain('resource_scrape_error 0\n')
  const cadvisor = cadvisorMetrics(usage()).text()
  expect(cadvisor).toMatch(
    /container_cpu_usage_seconds_total\{container="main",id="[^"]+",image="app:1",name="\w+",namespace="default",pod="web"\} 10\n/,
  )
  expect(cadvisor).toContain('machine_cpu_cores 4\n')
})

test('/metrics/probes counts what probes found, until the pod is gone', () => {
  const counts = new ProbeCounts()
  const web = pod('web')
  const probe = { pod: web, container: 'main', kind: 'readiness' } as const
  counts.count({ ...probe, passes: false })
  counts.count({ ...probe, passes: true })
  counts.count({ ...probe, passes: true })
  const labels = 'container="main",namespace="default",pod="web",pod_uid="uid-web"'
  expect(counts.metrics([web]).text()).toContain(
    `prober_probe_total{${labels},probe_type="Readiness",result="successful"} 2\n`,
  )
  expect(counts.metrics([web]).text()).toContain('result="failed"} 1\n')
  expect(counts.metrics([]).text()).not.toContain('web')
})
