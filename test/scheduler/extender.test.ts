/** Extenders against a real HTTPS server: what they are asked, and what their answers do. */
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import { dialects } from '../../components/api/dialect.ts'
import { silentLog } from '../../components/component-base/log.ts'
import { bind } from '../../components/scheduler/binding-cycle.ts'
import { parseSchedulerConfiguration } from '../../components/scheduler/configuration/kube-scheduler-configuration.ts'
import {
  chooseWithExtenders,
  filterByExtenders,
} from '../../components/scheduler/extended-choice.ts'
import { createExtender } from '../../components/scheduler/extender.ts'
import { podInfoOf } from '../../components/scheduler/pod-info.ts'
import { createTestPki } from '../support/tls.ts'
import type { PodWishes } from './build.ts'
import { clusterWith, node, pod } from './build.ts'

const pki = createTestPki()
const cleanups: (() => void)[] = []
afterEach(() => {
  for (const cleanup of cleanups.splice(0)) cleanup()
})

type Answers = Readonly<Record<string, (body: Record<string, never>) => unknown>>

/** A server that answers verbs; it hands out what it was asked. */
async function serve(answers: Answers) {
  const asked: { verb: string; body: Record<string, unknown> }[] = []
  const server = createServer(pki.server, (request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const verb = request.url?.replace('/api/', '') ?? ''
      const body = JSON.parse(Buffer.concat(chunks).toString()) as Record<string, never>
      asked.push({ verb, body })
      const answer = answers[verb]
      if (answer === undefined) response.writeHead(500).end()
      else response.end(JSON.stringify(answer(body)))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  cleanups.push(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { asked, urlPrefix: `https://127.0.0.1:${port}/api/` }
}

/** The extender that a configuration with these fields makes. */
function extenderOf(fields: object) {
  const extenders = [
    { tlsConfig: { caData: Buffer.from(pki.caPem).toString('base64') }, ...fields },
  ]
  const head = { apiVersion: 'kubescheduler.config.k8s.io/v1', kind: 'KubeSchedulerConfiguration' }
  const text = JSON.stringify({ ...head, extenders })
  const [settings] = parseSchedulerConfiguration(text, dialects.kubernetes).extenders
  if (settings === undefined) throw new Error('one extender')
  return createExtender(settings)
}

async function filtered(extender: ReturnType<typeof extenderOf>, wishes: PodWishes = {}) {
  const where = clusterWith({}, node('a'), node('b'), node('c'))
  const info = podInfoOf(pod(wishes))
  const found = where.finder.filter(where.profile, info)
  const nodes = await filterByExtenders([extender], { pod: info, log: silentLog }, found)
  return { names: nodes.map(({ name }) => name), diagnosis: found.diagnosis }
}

describe('filter', () => {
  test('of an extender that knows the nodes exchanges names', async () => {
    const { asked, urlPrefix } = await serve({
      filter: () => ({
        NodeNames: ['b'],
        FailedNodes: { a: 'busy' },
        FailedAndUnresolvableNodes: { c: 'too old' },
      }),
    })
    const extender = extenderOf({ urlPrefix, filterVerb: 'filter', nodeCacheCapable: true })
    const { names, diagnosis } = await filtered(extender)
    expect(names).toEqual(['b'])
    expect(asked[0]?.body).toMatchObject({ NodeNames: ['a', 'b', 'c'], Nodes: null })
    expect(Object.fromEntries(diagnosis.reasons)).toEqual({ busy: 1, 'too old': 1 })
    expect(diagnosis.resolvable).toEqual(['a'])
    expect([...diagnosis.rejectedBy]).toEqual(['Extender'])
  })

  test('of another gets whole nodes', async () => {
    const { asked, urlPrefix } = await serve({
      filter: () => ({ nodes: { items: [{ metadata: { name: 'c' } }] } }),
    })
    const { names } = await filtered(extenderOf({ urlPrefix, filterVerb: 'filter' }))
    expect(names).toEqual(['c'])
    const { Nodes } = asked[0]?.body as { Nodes: { items: { status: object }[] } }
    expect(Nodes.items[0]?.status).toMatchObject({ allocatable: { cpu: '4' } })
  })

  test('that names a node it was not asked about fails', async () => {
    const { urlPrefix } = await serve({ filter: () => ({ NodeNames: ['z'] }) })
    const extender = extenderOf({ urlPrefix, filterVerb: 'filter', nodeCacheCapable: true })
    await expect(filtered(extender)).rejects.toThrow(
      `extender "${urlPrefix}" claims a filtered node "z" which is not found in the input node list`,
    )
  })

  test('that fails is skipped only when it may', async () => {
    const { urlPrefix } = await serve({})
    const fields = { urlPrefix, filterVerb: 'filter' }
    await expect(filtered(extenderOf(fields))).rejects.toThrow(
      `failed filter with extender at URL ${urlPrefix}filter, code 500`,
    )
    const { names } = await filtered(extenderOf({ ...fields, ignorable: true }))
    expect(names).toEqual(['a', 'b', 'c'])
  })

  test('that answers with an error fails with its words', async () => {
    const { urlPrefix } = await serve({ filter: () => ({ Error: 'no licence' }) })
    await expect(filtered(extenderOf({ urlPrefix, filterVerb: 'filter' }))).rejects.toThrow(
      'no licence',
    )
  })

  test('is asked only about pods that want what it manages', async () => {
    const { asked, urlPrefix } = await serve({ filter: () => ({ NodeNames: [] }) })
    const extender = extenderOf({
      urlPrefix,
      filterVerb: 'filter',
      managedResources: [{ name: 'example.com/gpu' }],
    })
    expect((await filtered(extender)).names).toHaveLength(3)
    expect(asked).toEqual([])
    const containers = [{ name: 'm', resources: { limits: { 'example.com/gpu': '1' } } }]
    expect((await filtered(extender, { containers } as PodWishes)).names).toEqual([])
  })
})

describe('the connection', () => {
  test('to a server of another authority is refused, unless certificates are not checked', async () => {
    const { urlPrefix } = await serve({ filter: () => ({ NodeNames: ['a'] }) })
    const fields = { urlPrefix, filterVerb: 'filter', nodeCacheCapable: true }
    await expect(filtered(extenderOf({ ...fields, tlsConfig: undefined }))).rejects.toThrow(
      /certificate/,
    )
    const insecure = extenderOf({ ...fields, tlsConfig: { insecure: true } })
    expect((await filtered(insecure)).names).toEqual(['a'])
    const withoutCa = extenderOf({ ...fields, tlsConfig: undefined, enableHTTPS: true })
    expect((await filtered(withoutCa)).names).toEqual(['a'])
  })

  test('with a file that is not there cannot be made', () => {
    const tlsConfig = { caFile: '/nowhere/ca.crt' }
    expect(() => extenderOf({ urlPrefix: 'https://x', tlsConfig })).toThrow('/nowhere/ca.crt')
  })
})

test('prioritize adds weighted scores to those of the plugins', async () => {
  const { urlPrefix } = await serve({
    score: () => [
      { Host: 'a', Score: 1 },
      { Host: 'c', Score: 10 },
    ],
  })
  const extender = extenderOf({ urlPrefix, prioritizeVerb: 'score', weight: 5 })
  const { snapshot, profile } = clusterWith({}, node('a'), node('b'), node('c'))
  const about = { profile, pod: podInfoOf(pod()), view: snapshot, log: silentLog }
  expect((await chooseWithExtenders([extender], about, snapshot.nodes)).name).toBe('c')
  const counted: unknown[] = []
  const during = async <T>(run: () => Promise<T>): Promise<T> => {
    const scores = await run()
    counted.push(scores)
    return scores
  }
  const silent = extenderOf({ urlPrefix, filterVerb: 'filter' })
  await chooseWithExtenders([extender, silent], { ...about, during }, snapshot.nodes)
  expect(counted).toEqual([
    new Map([
      ['a', 50],
      ['c', 500],
    ]),
  ])
  const deaf = extenderOf({ urlPrefix, prioritizeVerb: 'nothing', weight: 5 })
  expect((await chooseWithExtenders([deaf], about, snapshot.nodes)).name).toBe('a')
})

test('preempt leaves the nodes and victims that the extender names', async () => {
  const { asked, urlPrefix } = await serve({
    preempt: () => ({ NodeNameToMetaVictims: { b: { Pods: [{ UID: 'uid-b1' }] } } }),
  })
  const extender = extenderOf({ urlPrefix, preemptVerb: 'preempt', nodeCacheCapable: true })
  const where = clusterWith({ extenders: [extender] }, node('a'), node('b'))
  where.snapshot.setPod(pod({ name: 'a1', nodeName: 'a', cpu: '4', priority: 1 }))
  where.snapshot.setPod(pod({ name: 'b1', nodeName: 'b', cpu: '4', priority: 2 }))
  const result = await where.postFilter(podInfoOf(pod({ cpu: '1', priority: 9 })))
  expect(asked[0]?.body['NodeNameToMetaVictims']).toEqual({
    a: { Pods: [{ UID: 'uid-a1' }], NumPDBViolations: 0 },
    b: { Pods: [{ UID: 'uid-b1' }], NumPDBViolations: 0 },
  })
  expect(result.ok && result.eviction.nodeName).toBe('b')
})

test('bind takes the place of the bind plugin, and of an extender that may fail the plugin takes over', async () => {
  const { asked, urlPrefix } = await serve({ bind: () => ({}) })
  const bound: string[] = []
  const { profile } = clusterWith({})
  const binds = [{ name: 'DefaultBinder', bind: async () => void bound.push('plugin') }]
  const info = podInfoOf(pod({ name: 'p' }))
  const at = { info, nodeName: 'n1' }
  await bind({ ...profile, binds }, [extenderOf({ urlPrefix, bindVerb: 'bind' })], at)
  expect(asked[0]?.body).toEqual({
    PodName: 'p',
    PodNamespace: 'default',
    PodUID: 'uid-p',
    Node: 'n1',
  })
  expect(bound).toEqual([])
  const broken = { urlPrefix, bindVerb: 'broken' }
  await expect(bind({ ...profile, binds }, [extenderOf(broken)], at)).rejects.toThrow(
    'binding rejected: failed broken with extender',
  )
  await bind({ ...profile, binds }, [extenderOf({ ...broken, ignorable: true })], at)
  expect(bound).toEqual(['plugin'])
})
