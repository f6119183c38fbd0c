import { readdirSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import type { DelegatedAuth } from '../../../components/client/delegated-auth.ts'
import type { Answer, HttpRequest } from '../../../components/component-base/http.ts'
import { silentLog } from '../../../components/component-base/log.ts'
import { writeCheckpointArchive } from '../../../components/node-agent/runtime/checkpoint-archive.ts'
import type { CheckpointRequest } from '../../../components/node-agent/runtime/container-runtime.ts'
import { createNodeMetrics } from '../../../components/node-agent/node/node-metrics.ts'
import { ProbeCounts } from '../../../components/node-agent/pods/probe-counts.ts'
import { nodeUsage } from '../../../components/node-agent/node/node-usage.ts'
import type { ServedNode } from '../../../components/node-agent/server/server.ts'
import { createNodeServer } from '../../../components/node-agent/server/server.ts'
import { SimulatedRuntime } from '../../../components/node-agent/runtime/simulated-runtime.ts'
import { podAnnotations } from '../../../components/api/simulation.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { pod, runPod } from '../build.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { eventually } from '../../support/eventually.ts'
import { expectMode } from '../../support/file-mode.ts'

let rootDir = ''
beforeEach(async () => {
  rootDir = temporaryFolder('node-server')
})

interface Wishes {
  annotations?: Record<string, string>
  servesCheckpoints?: boolean
  user?: string
  allows?: (attributes: unknown) => boolean
}

async function start(wishes: Wishes = {}) {
  const clock = new FakeClock()
  const runtime = new SimulatedRuntime({
    clock,
    version: 'test',
    writeCheckpoint: writeCheckpointArchive,
  })
  const checkpoints: CheckpointRequest[] = []
  const real = runtime.checkpoint.bind(runtime)
  runtime.checkpoint = (request) => {
    checkpoints.push(request)
    return real(request)
  }
  const run = await runPod(pod('web', {}, wishes.annotations), { clock, runtime })
  const asked: unknown[] = []
  const auth: DelegatedAuth = {
    authenticate: async ({ headers }) =>
      headers['authorization'] === undefined
        ? undefined
        : { username: wishes.user ?? 'admin', groups: [] },
    authorize: async (_user, attributes) => {
      asked.push(attributes)
      return { isAllowed: wishes.allows?.(attributes) ?? true, reason: '' }
    },
  }
  const node: ServedNode = {
    name: 'n1',
    rootDir,
    runtime,
    auth,
    pods: () => [run.worker.pod],
    container: (namespace, name, container) =>
      namespace === 'default' && name === 'web' ? run.worker.container(container) : undefined,
    fault: () => runtime.fault(),
    usage: () =>
      nodeUsage({
        nodeName: 'n1',
        startedMs: clock.now(),
        nowMs: clock.now(),
        pods: [run.worker.pod],
        container: (_namespace, _pod, container) => run.worker.container(container),
        runtime,
        capacity: { cpu: '4', memory: '8Gi' },
      }),
    metrics: createNodeMetrics({ name: 'n1', pods: () => [run.worker.pod] }, false),
    probeMetrics: () => new ProbeCounts().metrics([]),
    configz: () => ({ maxPods: 110 }),
  }
  const handler = createNodeServer({
    nodes: () => [node],
    servesCheckpoints: wishes.servesCheckpoints ?? true,
    clock,
    log: silentLog,
  })
  const call = (method: string, url: string, token = 'token'): Promise<Answer> =>
    handler({
      method,
      url,
      headers: token === '' ? {} : { authorization: `Bearer ${token}` },
    } as unknown as HttpRequest)
  return { clock, runtime, run, asked, checkpoints, call }
}

const text = ({ body }: Answer): string => (body as Buffer).toString()
const target = '/checkpoint/default/web/main'

describe('the checkpoint endpoint', () => {
  test('[CKPT-001] [CKPT-013] answers 200 to POST and 405 to other methods', async () => {
    const { call } = await start()
    const answer = await call('POST', target)
    expect(answer.status).toBe(200)
    expect(answer.headers['content-type']).toBe('application/json')
    for (const method of ['GET', 'PUT', 'DELETE', 'PATCH']) {
      expect((await call(method, target)).status).toBe(405)
    }
  })

  test('is not there with its gate off', async () => {
    const { call } = await start({ servesCheckpoints: false })
    expect((await call('POST', target)).status).toBe(404)
  })

  test('makes a whole archive for each of several requests in one second', async () => {
    const { call } = await start()
    const answers = await Promise.all(Array.from({ length: 8 }, () => call('POST', target)))
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 8 }, () => 200))
    const [archive = ''] = (JSON.parse(text(answers[0] as Answer)) as { items: string[] }).items
    expect(readdirSync(dirname(archive))).toEqual([basename(archive)])
  })

  test('[CKPT-003] needs all three parts of its path', async () => {
    const { call } = await start()
    for (const path of ['/checkpoint', '/checkpoint/default', '/checkpoint/default/web']) {
      expect((await call('POST', path)).status).toBe(404)
      expect((await call('POST', `${path}/`)).status).toBe(404)
    }
  })

  test('[CKPT-004] fails when the checkpoint takes longer than asked for', async () => {
    const annotations = { [podAnnotations.checkpoint]: '60s' }
    const { call, clock, checkpoints } = await start({ annotations })
    const answering = call('POST', `${target}?timeout=5`)
    let answer: Answer | undefined
    void answering.then((given) => {
      answer = given
    })
    await eventually(() => expect(checkpoints).toHaveLength(1))
    await clock.step(4999)
    expect(answer).toBeUndefined()
    await clock.step(1)
    expect((await answering).status).toBe(500)
    expect((await call('POST', `${target}?timeout=soon`)).status).toBe(404)
    expect((await call('POST', `${target}?timeout=1.5`)).status).toBe(404)
  })

  test('[CKPT-005] [CKPT-006] hands the time on as it is; zero and unset leave it to the runtime', async () => {
    const { call, checkpoints } = await start()
    for (const query of ['', '?timeout=0', '?timeout=86400']) await call('POST', target + query)
    expect(checkpoints.map(({ timeoutSeconds }) => timeoutSeconds)).toEqual([0, 0, 86_400])
  })

  test('[CKPT-007] asks the runtime once, for the right container', async () => {
    const { call, checkpoints, run } = await start()
    await call('POST', target)
    expect(checkpoints).toHaveLength(1)
    const id = run.last.containerStatuses?.[0]?.containerID
    expect(`simulated://${checkpoints[0]?.containerId}`).toBe(id)
  })

  test('[CKPT-008] [CKPT-009] names the archive after pod, container and time, below the root folder', async () => {
    const { call } = await start()
    const { items } = JSON.parse(text(await call('POST', target))) as { items: string[] }
    const name = 'checkpoint-web_default-main-2025-01-01T00:00:00Z.tar'
    expect(items).toEqual([join(rootDir, 'checkpoints', name)])
  })

  test('[CKPT-011] [CKPT-012] leaves a tar file of the runtime that only its owner may read', async () => {
    const { call } = await start()
    const { items } = JSON.parse(text(await call('POST', target))) as { items: string[] }
    const [path = ''] = items
    expectMode(path, 0o600)
    expectMode(join(rootDir, 'checkpoints'), 0o700)
    const { extract } = await import('tar-stream')
    const entries: Record<string, string> = {}
    const reading = extract()
    reading.end(await readFile(path))
    for await (const entry of reading) {
      const chunks: Buffer[] = []
      for await (const chunk of entry) chunks.push(chunk as Buffer)
      entries[entry.header.name] = Buffer.concat(chunks).toString()
    }
    expect(Object.keys(entries)).toEqual(['config.dump', 'spec.dump', 'checkpoint/inventory.img'])
    expect(JSON.parse(entries['config.dump'] ?? '')).toMatchObject({
      name: 'main',
      rootfsImage: 'app:1',
    })
  })

  test('[CKPT-014] does not answer strangers (CVE-2025-0426)', async () => {
    const { call, checkpoints } = await start()
    const answer = await call('POST', target, '')
    expect([answer.status, text(answer)]).toEqual([401, 'Unauthorized'])
    expect((await call('POST', '/nodes/other/pods', '')).status).toBe(401)
    expect(checkpoints).toHaveLength(0)
  })

  test('[CKPT-016] [ERR-010] answers 404 for a namespace, pod or container that is not there', async () => {
    const { call } = await start()
    for (const path of ['other/web/main', 'default/other/main', 'default/web/other']) {
      expect((await call('POST', `/checkpoint/${path}`)).status).toBe(404)
    }
  })

  test('[CKPT-017] [ERR-019] answers 500 when the runtime fails', async () => {
    const { call } = await start({ annotations: { [podAnnotations.checkpoint]: 'fail' } })
    const answer = await call('POST', target)
    expect(answer.status).toBe(500)
    expect(text(answer)).toContain('checkpointing of default/web/main failed')
  })

  test('[CKPT-018] [ERR-020] answers 500 when the runtime knows no checkpoints', async () => {
    const { call } = await start({ annotations: { [podAnnotations.checkpoint]: 'unsupported' } })
    expect((await call('POST', target)).status).toBe(500)
  })
})

describe('who may do what', () => {
  test.each([
    ['POST', target, 'create', 'checkpoint'],
    ['GET', '/stats/summary', 'get', 'stats'],
    ['GET', '/metrics', 'get', 'metrics'],
    ['GET', '/logs/syslog', 'get', 'log'],
    ['GET', '/pods', 'get', 'proxy'],
    ['GET', '/configz', 'get', 'proxy'],
    ['GET', '/healthz', 'get', 'proxy'],
    ['DELETE', '/pods', 'delete', 'proxy'],
    ['GET', '/constructor', 'get', 'proxy'],
  ])('%s %s asks for %s on nodes/%s', async (method, path, verb, subresource) => {
    const { call, asked } = await start()
    await call(method, path)
    expect(asked).toEqual([
      { resourceAttributes: { verb, version: 'v1', resource: 'nodes', subresource, name: 'n1' } },
    ])
  })

  test('one who may not is told what was asked', async () => {
    const { call } = await start({ user: 'jane', allows: () => false })
    const answer = await call('GET', '/pods')
    expect([answer.status, text(answer)]).toEqual([
      403,
      'Forbidden (user=jane, verb=get, resource=nodes, subresource=proxy)',
    ])
  })
})

describe('the other endpoints', () => {
  test('show pods, configuration, statistics, metrics and logs', async () => {
    const { call } = await start()
    const json = async (path: string): Promise<unknown> => JSON.parse(text(await call('GET', path)))
    expect(await json('/pods')).toMatchObject({
      kind: 'PodList',
      items: [{ metadata: { name: 'web' } }],
    })
    expect(await json('/configz')).toEqual({ kubeletconfig: { maxPods: 110 } })
    expect(await json('/stats/summary')).toMatchObject({
      node: { nodeName: 'n1' },
      pods: [{ podRef: { namespace: 'default', name: 'web' }, containers: [{ name: 'main' }] }],
    })
    expect(await json('/nodes/n1/pods')).toMatchObject({ kind: 'PodList' })
    expect(text(await call('GET', '/metrics'))).toContain('kubelet_running_pods 1')
    expect(text(await call('GET', '/containerLogs/default/web/main?tailLines=1'))).toBe(
      'main started (attempt 0)\n',
    )
    expect((await call('GET', '/unknown')).status).toBe(404)
    const memory = 'container_memory_working_set_bytes{container="main"'
    expect(text(await call('GET', '/metrics/resource'))).toContain(memory)
    expect(text(await call('GET', '/metrics/cadvisor'))).toContain(memory)
    expect((await call('GET', '/metrics/probes')).status).toBe(200)
    expect((await call('GET', '/metrics/other')).status).toBe(404)
    expect((await call('GET', '/nodes/other/pods')).status).toBe(404)
    expect((await call('GET', '//')).status).toBe(400)
  })

  test('healthz says what is wrong', async () => {
    const { call, runtime } = await start()
    expect(text(await call('GET', '/healthz'))).toBe('ok')
    runtime.setFault('the runtime does not answer')
    expect((await call('GET', '/healthz')).status).toBe(500)
  })
})
