/** A joined node against a real API server under the Node authorizer: pods, its own API, and simulated trouble. */
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { dialects } from '../../../components/api/dialect.ts'
import type {
  Event as CoreEvent,
  Node,
  Pod,
  PodSpec,
  Service,
} from '../../../components/api/generated/types.ts'
import { resourcesOf } from '../../../components/api/resources.ts'
import { createRestClient } from '../../../components/client/rest-client.ts'
import type { RestClient } from '../../../components/client/rest-client.ts'
import { isStatusError } from '../../../components/machinery/objects/status-error.ts'
import { nodeAnnotations, podAnnotations } from '../../../components/api/simulation.ts'
import type { Agent } from '../agent.ts'
import { startAgent } from '../agent.ts'
import type { Lab } from '../lab.ts'
import { startLab } from '../lab.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { eventually } from '../../support/eventually.ts'

const resources = resourcesOf(dialects.kubernetes)
let lab: Lab
let agent: Agent
let rootDir = ''
let port = 0
let serviceAccountToken = ''
const clients: RestClient[] = []

beforeAll(async () => {
  lab = await startLab()
  rootDir = temporaryFolder('node')
  agent = startAgent(lab, 'n1', { rootDir })
  port = Number((await agent.ready)['port'])
  const accounts = lab.admin.resource(resources.serviceAccounts)
  const account = { namespace: 'default', name: 'default' }
  await accounts.create({ metadata: account })
  const request = {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    metadata: {},
    spec: {},
  }
  const issued = await accounts.createSubresource(account, 'token', request)
  serviceAccountToken = issued['status'].token as string
})
afterAll(async () => {
  for (const client of clients) client.close()
  await agent.stop()
  await lab.stop()
})

const pods = () => lab.admin.resource<Pod>(resources.pods)
const nodes = () => lab.admin.resource<Node>(resources.nodes)

async function createPod(name: string, annotations: Record<string, string> = {}): Promise<void> {
  await pods().create({
    metadata: { name, namespace: 'default', annotations },
    spec: { nodeName: 'n1', containers: [{ name: 'main', image: 'app:1' }] },
  })
}

const getPod = (name: string) => pods().get({ namespace: 'default', name })
const isReady = (status: { conditions?: { type: string; status: string }[] } | undefined) =>
  status?.conditions?.find(({ type }) => type === 'Ready')?.status

/** The node's own server, called as an administrator, with a token, or as nobody. */
function nodeApi(as: 'admin' | 'token' | 'nobody' = 'admin'): RestClient {
  const credentials = {
    admin: lab.adminCredentials,
    token: { token: serviceAccountToken },
    nobody: {},
  }[as]
  const server = `https://127.0.0.1:${port}`
  const client = createRestClient({ server, insecureSkipVerify: true, credentials })
  clients.push(client)
  return client
}

const codeOf = async (answer: Promise<unknown>): Promise<number> => {
  try {
    await answer
    return 200
  } catch (error) {
    if (isStatusError(error)) return error.code
    throw error
  }
}

describe('a pod bound to the node', () => {
  test('becomes Running and Ready, and is gone after its deletion', async () => {
    await createPod('plain')
    await eventually(async () => expect(isReady((await getPod('plain')).status)).toBe('True'))
    expect((await getPod('plain')).status).toMatchObject({
      phase: 'Running',
      qosClass: 'BestEffort',
      hostIP: '127.0.0.1',
    })
    await pods().delete({ namespace: 'default', name: 'plain' })
    await eventually(async () => expect(await codeOf(getPod('plain'))).toBe(404))
  })

  test('that ends by itself is reported with its code', async () => {
    await createPod('ends', { [podAnnotations.exitAfter]: '0.1', [podAnnotations.exitCode]: '3' })
    await eventually(async () => {
      const [container] = (await getPod('ends')).status?.containerStatuses ?? []
      const ended = container?.state?.terminated ?? container?.lastState?.terminated
      expect(ended?.exitCode).toBe(3)
    })
  })
})

describe('a pod that the node does not take', () => {
  const rejected = async (name: string, spec: Partial<PodSpec>) => {
    const containers = [{ name: 'main', image: 'app:1' }]
    await pods().create({
      metadata: { name, namespace: 'default' },
      spec: { nodeName: 'n1', containers, ...spec },
    })
    await eventually(async () => expect((await getPod(name)).status?.phase).toBe('Failed'))
    return (await getPod(name)).status
  }
  const withCpu = (cpu: string) => ({
    containers: [{ name: 'main', image: 'app:1', resources: { requests: { cpu } } }],
  })

  test('for its sysctls fails, and an event says why', async () => {
    const sysctls = [{ name: 'kernel.msgmax', value: '65536' }]
    const status = await rejected('unsafe', { securityContext: { sysctls } })
    const message = 'forbidden sysctl: "kernel.msgmax" not allowlisted'
    expect(status).toMatchObject({
      reason: 'SysctlForbidden',
      message: `Pod was rejected: ${message}`,
      startTime: expect.any(String) as string,
    })
    expect(status).not.toHaveProperty('containerStatuses')
    const events = lab.admin.resource<CoreEvent>(resources.events)
    await eventually(async () => {
      const { items } = await events.list({ namespace: 'default' })
      const about = items.filter(({ involvedObject }) => involvedObject.name === 'unsafe')
      expect(about).toMatchObject([{ type: 'Warning', reason: 'SysctlForbidden', message }])
    })
  })

  test('for want of room fails, and others still find theirs', async () => {
    const status = await rejected('large', withCpu('1000'))
    expect(status?.reason).toBe('OutOfcpu')
    expect(status?.message).toMatch(
      /^Pod was rejected: Node didn't have enough resource: cpu, requested: 1000000, used: 0, capacity: \d+000$/,
    )
    await createPod('small')
    await eventually(async () => expect((await getPod('small')).status?.phase).toBe('Running'))
  })
})

test('an annotation that is ignored gets an event, on a pod and on the node', async () => {
  await createPod('misspelt', { 'skiff.dev/exit-aftr': '5s' })
  await nodes().patch(
    { name: 'n1' },
    { metadata: { annotations: { [nodeAnnotations.diskPressure]: 'full' } } },
    { type: 'merge' },
  )
  const events = lab.admin.resource<CoreEvent>(resources.events)
  await eventually(async () => {
    const { items } = await events.list({ namespace: 'default' })
    const told = items
      .filter(({ reason }) => reason === 'InvalidAnnotation')
      .map(({ involvedObject, type, message }) => [involvedObject.name, type, message])
    expect(told.toSorted()).toEqual([
      [
        'misspelt',
        'Warning',
        'Annotation skiff.dev/exit-aftr is ignored: unknown annotation; did you mean "skiff.dev/exit-after"?',
      ],
      [
        'n1',
        'Warning',
        'Annotation skiff.dev/disk-pressure is ignored: invalid value "full": must be true or false',
      ],
    ])
  })
})

test('a container finds the API server by its environment', async () => {
  const services = lab.admin.resource<Service>(resources.services)
  const { spec } = await eventually(() =>
    services.get({ namespace: 'default', name: 'kubernetes' }),
  )
  await pods().create({
    metadata: { name: 'finder', namespace: 'default' },
    spec: {
      nodeName: 'n1',
      restartPolicy: 'Never',
      containers: [
        {
          name: 'main',
          image: 'app:1',
          command: ['sh', '-c', 'echo $URL; exit 1'],
          terminationMessagePolicy: 'FallbackToLogsOnError',
          env: [{ name: 'URL', value: '$(KUBERNETES_SERVICE_HOST):$(KUBERNETES_SERVICE_PORT)' }],
        },
      ],
    },
  })
  await eventually(async () => {
    const [container] = (await getPod('finder')).status?.containerStatuses ?? []
    expect(container?.state?.terminated?.message).toBe(`${spec?.clusterIP}:443\n`)
  })
})

describe("the node's resources", () => {
  const status = async () => (await nodes().get({ name: 'n1' })).status
  const advertise = (amount: string | null) =>
    nodes().patch(
      { name: 'n1' },
      { status: { capacity: { 'example.com/dongle': amount } } },
      { type: 'merge', subresource: 'status' },
    )

  test('have ephemeral storage, from the disk', async () => {
    const { capacity, allocatable } = (await status()) ?? {}
    expect(capacity?.['ephemeral-storage']).toMatch(/^\d+Ki$/)
    expect(allocatable?.['ephemeral-storage']).toBe(capacity?.['ephemeral-storage'])
  })

  test('that are advertised in the capacity can be allocated, until they are gone from it', async () => {
    const allocatable = async () => (await status())?.allocatable?.['example.com/dongle']
    await advertise('4')
    await eventually(async () => expect(await allocatable()).toBe('4'))
    await advertise('7')
    await eventually(async () => expect(await allocatable()).toBe('7'))
    expect((await status())?.capacity?.['example.com/dongle']).toBe('7')
    await advertise(null)
    await eventually(async () => expect(await allocatable()).toBeUndefined())
  })
})

describe("the node's own API", () => {
  test('checkpoints a container for one who may, and nobody else', async () => {
    await createPod('target')
    await eventually(async () => expect(isReady((await getPod('target')).status)).toBe('True'))
    const request = { method: 'POST', path: '/checkpoint/default/target/main' }
    const { items } = (await nodeApi().json(request)) as { items: string[] }
    expect(items[0]).toContain(join(rootDir, 'checkpoints', 'checkpoint-target_default-main-'))
    expect(await codeOf(nodeApi('nobody').json(request))).toBe(401)
    expect(await codeOf(nodeApi('token').json(request))).toBe(403)
  })

  test('knows the callers that the API server knows', async () => {
    const healthz = { method: 'GET', path: '/healthz' }
    expect((await nodeApi().bytes(healthz)).body.toString()).toBe('ok')
    expect(await codeOf(nodeApi('token').bytes(healthz))).toBe(403)
    expect(await codeOf(nodeApi('nobody').bytes(healthz))).toBe(401)
    const bogus = createRestClient({
      server: `https://127.0.0.1:${port}`,
      insecureSkipVerify: true,
      credentials: { token: 'nonsense' },
    })
    clients.push(bogus)
    expect(await codeOf(bogus.bytes(healthz))).toBe(401)
  })
})

describe('simulated trouble', () => {
  test('is asked for by annotations on the node and shows in its conditions', async () => {
    const annotate = (annotations: Record<string, string | null>) =>
      nodes().patch({ name: 'n1' }, { metadata: { annotations } }, { type: 'merge' })
    await annotate({
      [nodeAnnotations.memoryPressure]: 'true',
      [nodeAnnotations.runtimeDown]: 'the disk is gone',
    })
    await eventually(async () => {
      const { status } = await nodes().get({ name: 'n1' })
      const ready = status?.conditions?.find(({ type }) => type === 'Ready')
      expect(ready).toMatchObject({
        status: 'False',
        message: 'container runtime is down: the disk is gone',
      })
      const memory = status?.conditions?.find(({ type }) => type === 'MemoryPressure')
      expect(memory?.status).toBe('True')
    })
    await annotate({ [nodeAnnotations.memoryPressure]: null, [nodeAnnotations.runtimeDown]: null })
    await eventually(async () =>
      expect(isReady((await nodes().get({ name: 'n1' })).status)).toBe('True'),
    )
  })
})

test('the metrics of a node count its requests to the API server', async () => {
  const { body } = await nodeApi().bytes({ method: 'GET', path: '/metrics' })
  const host = `host="${new URL(lab.server).host}"`
  const text = body.toString()
  expect(text).toContain('kubelet_node_name{node="n1"} 1\n')
  // It has created its Node and its Lease at least.
  expect(text).toMatch(
    new RegExp(`^rest_client_requests_total\\{code="201",method="POST",${host}\\} [2-9]`, 'm'),
  )
  expect(text).toMatch(
    new RegExp(`^rest_client_request_size_bytes_sum\\{verb="POST",${host}\\} [1-9]\\d{2}`, 'm'),
  )
})
