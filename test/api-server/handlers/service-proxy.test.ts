import { afterAll, beforeAll, expect, test } from 'vitest'
import { createAuthority } from '../../../certs/authority.ts'
import type { Pki } from '../../../certs/pki.ts'
import { dialects } from '../../../components/api/dialect.ts'
import { resourcesOf } from '../../../components/api/resources.ts'
import { createProxyHandlers } from '../../../components/api-server/handlers/proxy.ts'
import type { Parts } from '../../../components/api-server/handlers/parts.ts'
import type { RequestContext } from '../../../components/api-server/request/request.ts'
import type { Resource } from '../../../components/machinery/objects/resource.ts'
import {
  listenedPort,
  startFakeNodeAgent,
  type FakeNodeAgent,
} from '../../support/fake-node-agent.ts'

const resources = resourcesOf(dialects.kubernetes)
const handler = createProxyHandlers({ cert: undefined, key: undefined, ca: undefined })[
  'services/proxy'
]
const signal = new AbortController().signal

let listener: FakeNodeAgent
beforeAll(async () => {
  const authority = createAuthority({ commonName: 'ca', nowMs: Date.now() })
  listener = await startFakeNodeAgent({ authority } as Pki)
})
afterAll(() => listener[Symbol.asyncDispose]())

/** Asks the service s for /x, with these addresses behind it and the pod p at 10.1.2.3. */
async function ask(
  addresses: readonly object[],
  port = 'web',
  names: readonly string[] = ['web'],
): Promise<string> {
  const ports = names.map((name) => ({ name, port: listenedPort }))
  const spec = { ports: names.map((name, index) => ({ name, port: 80 + index })) }
  const objects = new Map<Resource, object>([
    [resources.services, { metadata: { name: 's' }, spec }],
    [resources.endpoints, { subsets: [{ addresses, ports }] }],
    [
      resources.pods,
      { metadata: { name: 'p' }, spec: { nodeName: 'n' }, status: { podIP: '10.1.2.3' } },
    ],
  ])
  const parts = {
    resources,
    registry: { admit: async () => {} },
    cache: {
      refresh: () => undefined,
      get: (resource: Resource, namespace: string, name: string) =>
        resource === resources.nodes
          ? listener.node(name)
          : namespace === 'a' && ['s', 'p'].includes(name)
            ? objects.get(resource)
            : undefined,
    },
  } as unknown as Parts
  const info = {
    namespace: 'a',
    name: `http:s:${port}`,
    subresource: 'proxy',
    path: '',
    rest: ['x'],
  }
  const http = { method: 'GET', url: '', headers: {}, signal, body: async () => Buffer.alloc(0) }
  const context = { info, http } as unknown as RequestContext
  const answer = await handler?.(context, resources.services, parts)
  const chunks: Buffer[] = []
  const write = (chunk: Buffer): boolean => chunks.push(chunk) > 0
  if (answer !== undefined && !Buffer.isBuffer(answer.body)) {
    await answer.body({ write, drained: async () => {}, buffered: 0, signal })
  }
  return Buffer.concat(chunks).toString()
}

const ofPod = { ip: '10.1.2.3', targetRef: { kind: 'Pod', name: 'p', namespace: 'a' } }

test('a service is reached at an address of a pod in its namespace', async () => {
  expect(await ask([{ ip: '10.1.2.9' }, ofPod])).toBe('10.1.2.3:8080 GET /x\n')
})

test.each([
  ['by its name', 'web', ['admin', 'web']],
  ['by its number', '81', ['admin', 'web']],
  ['without saying it when it has no name', '', ['']],
])('a port of a service is reached %s', async (_, port, names) => {
  expect(await ask([ofPod], port, names)).toBe('10.1.2.3:8080 GET /x\n')
})

test.each([
  ['that is not said is not guessed when ports have names', '', /^no endpoints available/],
  ['of a name that the service has not is unavailable', 'other', /^no endpoints available/],
  ['of a number that the service has not is unavailable', '82', /^no service port 82 found/],
])('a port %s', async (_, port, message) => {
  const refused = ask([ofPod], port, ['admin', 'web'])
  await expect(refused).rejects.toMatchObject({
    reason: 'ServiceUnavailable',
    message: expect.stringMatching(message),
  })
})

test.each([
  ['names no pod', { ip: '10.1.2.3' }],
  ["is not its pod's", { ip: '10.1.2.4', targetRef: { name: 'p', namespace: 'a' } }],
  ['names a pod elsewhere', { ip: '10.1.2.3', targetRef: { name: 'p', namespace: 'b' } }],
  ['names a pod that is gone', { ip: '10.1.2.3', targetRef: { name: 'q', namespace: 'a' } }],
])('an address that %s is not used', async (_, address) => {
  await expect(ask([address])).rejects.toThrow('no endpoints available for service "s"')
})
