/** Controllers over the network, before a server that is busy or whose answers are lost: what reaches it, and what is there then. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { daemonSetController } from '../../components/controller-manager/daemon-set/daemon-set.ts'
import { deploymentController } from '../../components/controller-manager/deployment/deployment.ts'
import { endpointSliceController } from '../../components/controller-manager/endpoints/endpoint-slices.ts'
import { jobController } from '../../components/controller-manager/job/job.ts'
import { replicaSetController } from '../../components/controller-manager/replica-set/replica-set.ts'
import { statefulSetController } from '../../components/controller-manager/stateful-set/stateful-set.ts'
import { startApiServer, type TestApiServer } from '../support/api-server.ts'
import { eventually } from '../support/eventually.ts'
import { startFaultyFront, type FaultyFront, type FrontedRequest } from '../support/faulty-front.ts'
import { startControllers } from '../support/live-controller.ts'

const labels = { app: 'x' }
const containers = [{ name: 'c', image: 'i' }]
const template = { metadata: { labels }, spec: { containers } }
const workload = (spec: object) => ({ selector: { matchLabels: labels }, template, ...spec })

/** Creates one of each; `pods` is how many they want. */
async function createAll(server: TestApiServer, namespace: string): Promise<{ pods: number }> {
  const apps = `/apis/apps/v1/namespaces/${namespace}`
  const make = (path: string, name: string, spec: object): Promise<unknown> =>
    server.ok('POST', path, { body: { metadata: { name }, spec } })
  await make(`/api/v1/namespaces/${namespace}/services`, 'v', {
    selector: labels,
    ports: [{ port: 80 }],
  })
  await make(`${apps}/deployments`, 'd', workload({ replicas: 3 }))
  await make(`${apps}/statefulsets`, 's', {
    ...workload({ replicas: 2 }),
    serviceName: 's',
    podManagementPolicy: 'Parallel',
  })
  // The node has not reported that it is ready.
  const everywhere = { ...template, spec: { containers, tolerations: [{ operator: 'Exists' }] } }
  await make(`${apps}/daemonsets`, 'e', workload({ template: everywhere }))
  await make(`/apis/batch/v1/namespaces/${namespace}/jobs`, 'j', {
    completions: 2,
    parallelism: 2,
    template: { spec: { containers, restartPolicy: 'Never' } },
  })
  return { pods: 3 + 2 + 1 + 2 }
}

const isCreate = ({ method }: FrontedRequest): boolean => method === 'POST'
const collectionOf = ({ path }: FrontedRequest): string => path.split('?')[0] ?? ''

describe('controllers', () => {
  let server: TestApiServer
  let front: FaultyFront
  let controllers: AsyncDisposable
  const told: { namespace: string; pods: number }[] = []
  beforeAll(async () => {
    server = await startApiServer({ flags: ['--disable-admission-plugins=ServiceAccount'] })
    await server.ok('POST', '/api/v1/nodes', { body: { metadata: { name: 'n1' } } })
    front = await startFaultyFront(server)
    controllers = await startControllers(
      server,
      [
        deploymentController,
        replicaSetController,
        statefulSetController,
        daemonSetController,
        jobController,
        endpointSliceController,
      ],
      { port: front.port },
    )
  })
  afterAll(async () => {
    await controllers[Symbol.asyncDispose]()
    await front[Symbol.asyncDispose]()
    await server[Symbol.asyncDispose]()
    expect(server.faults).toEqual([])
  })

  /** What was created there, by collection, whether it is there still or not. */
  const createdIn = (namespace: string): Record<string, number> => {
    const made = server
      .audit()
      .filter(({ verb, requestURI, responseStatus }) => {
        const isHere = requestURI.includes(`/namespaces/${namespace}/`)
        return verb === 'create' && isHere && responseStatus.code === 201
      })
      .map(({ requestURI }) => requestURI.split('?')[0]?.split('/').at(-1) ?? '')
    return Object.fromEntries(
      [...Map.groupBy(made, (one) => one)].map(([key, all]) => [key, all.length]),
    )
  }
  const expectOnce = async (namespace: string, pods: number): Promise<void> => {
    await eventually(async () => {
      const { items } = await server.ok('GET', `/api/v1/namespaces/${namespace}/pods`)
      expect(items).toHaveLength(pods)
      expect(createdIn(namespace)).toMatchObject({
        pods,
        replicasets: 1,
        endpointslices: 1,
        controllerrevisions: 2,
      })
    })
  }

  it('ask a busy server again when it says, and no earlier', async () => {
    const namespace = await server.namespace()
    const refused = new Map<string, number>()
    const early: string[] = []
    front.fateOf = (request) => {
      const path = collectionOf(request)
      if (!isCreate(request) || !path.includes(`/${namespace}/`)) return 'pass'
      const last = refused.get(path)
      // Each collection is refused once; what comes next must have waited.
      if (last === undefined) {
        refused.set(path, request.atMs)
        return { status: 429, retryAfterSeconds: 1 }
      }
      if (path.endsWith('/replicasets') && request.atMs - last < 990) early.push(path)
      return 'pass'
    }
    const { pods } = await createAll(server, namespace)
    await expectOnce(namespace, pods)
    told.push({ namespace, pods })
    expect(refused.size).toBe(4)
    expect(early).toEqual([])
  })

  it('make nothing twice when the server acts and its answers are lost', async () => {
    const namespace = await server.namespace()
    const lost = new Map<string, number>()
    front.fateOf = (request) => {
      const path = collectionOf(request)
      if (!isCreate(request) || !path.includes(`/${namespace}/`)) return 'pass'
      const times = lost.get(path) ?? 0
      lost.set(path, times + 1)
      return times < 1 ? 'lose' : 'pass'
    }
    const { pods } = await createAll(server, namespace)
    await expectOnce(namespace, pods)
    expect(lost.size).toBe(4)
    told.push({ namespace, pods })
  })

  it('rest when all is there', async () => {
    const isWrite = ({ method }: FrontedRequest): boolean => method !== 'GET'
    const writes = (): number => front.requests.filter(isWrite).length
    const count = await eventually(async () => {
      const before = writes()
      // A round trip through the same front gives what is under way its time.
      for (let i = 0; i < 50; i += 1) await server.ok('GET', '/api/v1/nodes')
      expect(writes()).toBe(before)
      return before
    })
    expect(count).toBeLessThan(200)
    for (const { namespace, pods } of told) await expectOnce(namespace, pods)
  })
})
