/** The scheduler's process and its metrics, one of which is hidden since this release. */
import { once } from 'node:events'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startApiServer, type TestApiServer } from '../support/api-server.ts'
import { componentProcesses, type ComponentProcesses } from '../support/component-process.ts'
import { eventually } from '../support/eventually.ts'

let server: TestApiServer
let schedulers: ComponentProcesses

/** A node that takes pods, and the first pod for it. */
async function seed(): Promise<void> {
  const capacity = { cpu: '4', memory: '8Gi', pods: '110' }
  await server.ok('POST', '/api/v1/nodes', { body: { metadata: { name: 'n1' } } })
  const conditions = [{ type: 'Ready', status: 'True' }]
  const patch = async (path: string, body: unknown): Promise<void> => {
    const headers = { 'content-type': 'application/merge-patch+json' }
    await server.ok('PATCH', path, { body, headers })
  }
  await patch('/api/v1/nodes/n1/status', {
    status: { capacity, allocatable: capacity, conditions },
  })
  // A new node is not ready; the controller that would say otherwise does not run here.
  await patch('/api/v1/nodes/n1', { spec: { taints: null } })
  await server.namespace('pods')
}

async function addPod(
  name: string,
  requests: Record<string, string> = {},
  schedulerName = 'default-scheduler',
): Promise<void> {
  const spec = {
    schedulerName,
    containers: [{ name: 'main', image: 'example.com/app:1', resources: { requests } }],
  }
  await server.ok('POST', '/api/v1/namespaces/pods/pods', { body: { metadata: { name }, spec } })
}

beforeAll(async () => {
  server = await startApiServer()
  await seed()
  schedulers = await componentProcesses(server, 'scheduler')
})
afterAll(async () => {
  await server[Symbol.asyncDispose]()
})

/** The metrics of a scheduler with these flags, once it has scheduled the pod of that name. */
async function metricsAfter(pod: string, ...flags: string[]): Promise<string> {
  return await schedulers.during(flags, async (show) => {
    await addPod(pod)
    return await eventually(async () => {
      const text = await show('/metrics')
      expect(text).toMatch(/^scheduler_pod_scheduling_attempts_count 1$/m)
      return text
    })
  })
}

describe('the listener of the scheduler', () => {
  it('explains a waiting pod to callers that may see its metrics', async () => {
    await schedulers.during([], async (show) => {
      await addPod('large', { cpu: '64' })
      const said = await eventually(async () => {
        const text = await show('/explain/pods/pods/large')
        expect(text).toContain('{')
        return JSON.parse(text) as { nodes: object[]; message: string }
      })
      expect(said.nodes).toEqual([
        {
          node: 'n1',
          fits: false,
          plugin: 'NodeResourcesFit',
          reasons: ['Insufficient cpu'],
          resolvable: true,
          shortages: [{ resource: 'cpu', requested: '64', free: '4' }],
        },
      ])
      expect(said.message).toContain('0/1 nodes are available: 1 Insufficient cpu.')
      await addPod('foreign', { cpu: '1' }, 'nobody')
      const foreign = await eventually(async () => {
        const text = await show('/explain/pods/pods/foreign')
        expect(text).toContain('{')
        return JSON.parse(text) as unknown
      })
      expect(foreign).toEqual({
        schedulerName: 'nobody',
        profiles: ['default-scheduler'],
        nodes: [],
      })
      expect(await show('/explain/pods/pods/none')).toBe('404 page not found\n')
      expect(await show('/metrics')).toMatch(/^scheduler_pending_pods\{queue="unschedulable"\} 1$/m)
    })
    await server.ok('DELETE', '/api/v1/namespaces/pods/pods/large')
    await server.ok('DELETE', '/api/v1/namespaces/pods/pods/foreign')
  })
})

describe('metrics of the scheduler', () => {
  it('[VER-051] --show-hidden-metrics-for-version registers what is hidden, for the previous release only', async () => {
    const hidden = 'scheduler_pod_scheduling_duration_seconds'
    const usual = await metricsAfter('usual')
    const handled = 'scheduler_event_handling_duration_seconds_count'
    expect(usual).toMatch(new RegExp(`^${handled}\\{event="NodeAdd"\\} 1$`, 'm'))
    expect(usual).toMatch(new RegExp(`^${handled}\\{event="UnscheduledPodAdd"\\} 1$`, 'm'))
    const asked = (plugin: string, point: string): string =>
      `scheduler_plugin_evaluation_total{plugin="${plugin}",extension_point="${point}",profile="default-scheduler"}`
    expect(usual).toContain(`${asked('TaintToleration', 'Filter')} 1\n`)
    expect(usual).toContain(`${asked('NodePorts', 'Filter')} 0\n`)
    expect(usual).toContain(`${asked('NodeResourcesFit', 'Score')} 0\n`)
    const host = `host="127.0.0.1:${server.port}"`
    expect(usual).toContain(`rest_client_requests_total{code="201",method="POST",${host}} `)
    expect(usual).toMatch(
      new RegExp(`^rest_client_request_duration_seconds_count\\{verb="POST",${host}\\} \\d+$`, 'm'),
    )
    expect(usual).not.toContain(hidden)
    expect(usual).toMatch(/^hidden_metrics_total 1$/m)
    const shown = await metricsAfter('shown', '--show-hidden-metrics-for-version=1.31')
    expect(shown).toMatch(
      new RegExp(`^# HELP ${hidden} \\(Deprecated from 1\\.29\\) \\[STABLE\\] `, 'm'),
    )
    expect(shown).toMatch(new RegExp(`^${hidden}_count\\{attempts="1"\\} 1$`, 'm'))
    expect(shown).toMatch(/^hidden_metrics_total 0$/m)

    for (const version of ['1.30', '1.32', '1.28', 'latest']) {
      const refused = schedulers.start(`--show-hidden-metrics-for-version=${version}`)
      let text = ''
      refused.stderr?.on('data', (chunk: Buffer) => (text += chunk.toString()))
      expect(await once(refused, 'close')).toEqual([2, null])
      expect(text).toContain('Only the previous minor version is allowed')
    }
  })
})
