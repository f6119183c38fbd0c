/** What a container finds in its environment, wherever its pod has it from. */
import { describe, expect, test } from 'vitest'
import { dialects } from '../../../components/api/dialect.ts'
import type {
  Container,
  Pod,
  Service,
  ServiceSpec,
} from '../../../components/api/generated/types.ts'
import { resourcesOf } from '../../../components/api/resources.ts'
import { createPodEnvironment } from '../../../components/node-agent/pods/pod-environment.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { FakeCluster } from '../../support/fake-client.ts'
import { pod, runPod } from '../build.ts'

const resources = resourcesOf(dialects.kubernetes)

function cluster(): FakeCluster {
  const fake = new FakeCluster(new FakeClock())
  const metadata = (name: string) => ({ name, namespace: 'default' })
  fake.seed(resources.configMaps, {
    metadata: metadata('settings'),
    data: { COLOUR: 'blue', SIZE: 'large' },
  })
  const PASSWORD = Buffer.from('s3cret').toString('base64')
  fake.seed(resources.secrets, { metadata: metadata('login'), data: { PASSWORD } })
  return fake
}

const service = (name: string, spec: ServiceSpec): Service => ({
  metadata: { name, namespace: 'default' },
  spec,
})

const apiServer = service('kubernetes', {
  clusterIP: '10.96.0.1',
  ports: [{ name: 'https', port: 443, protocol: 'TCP' }],
})

function environment(
  container: Partial<Container>,
  fake = cluster(),
  more: { spec?: Partial<Pod['spec']>; services?: Service[]; apiServer?: Service } = {},
) {
  const described = pod('web', { serviceAccountName: 'robot', ...more.spec })
  described.metadata.labels = { app: 'shop' }
  described.status = { podIP: '10.1.0.2', podIPs: [{ ip: '10.1.0.2' }], hostIP: '127.0.0.1' }
  const of = createPodEnvironment({
    client: fake.client(),
    servicesFor: async () => ({ own: more.services ?? [], apiServer: more.apiServer }),
    allocatable: () => ({ cpu: '4', memory: '8Gi', 'ephemeral-storage': '100Gi' }),
  })
  return of(described, { name: 'main', ...container })
}

const reference = (name: string, key: string) => ({ name, key })

test('values are taken from fields of the pod, config maps and secrets', async () => {
  const field = (name: string, fieldPath: string) => ({
    name,
    valueFrom: { fieldRef: { fieldPath } },
  })
  const env = [
    { name: 'PLAIN', value: 'x' },
    field('NAME', 'metadata.name'),
    field('APP', "metadata.labels['app']"),
    field('NOTE', "metadata.annotations['none']"),
    field('NODE', 'spec.nodeName'),
    field('ACCOUNT', 'spec.serviceAccountName'),
    field('IP', 'status.podIP'),
    field('IPS', 'status.podIPs'),
    field('HOST', 'status.hostIP'),
    { name: 'COLOUR', valueFrom: { configMapKeyRef: reference('settings', 'COLOUR') } },
    { name: 'PASSWORD', valueFrom: { secretKeyRef: reference('login', 'PASSWORD') } },
  ]
  expect(await environment({ env })).toEqual({
    PLAIN: 'x',
    NAME: 'web',
    APP: 'shop',
    NOTE: '',
    NODE: 'n1',
    ACCOUNT: 'robot',
    IP: '10.1.0.2',
    IPS: '10.1.0.2',
    HOST: '127.0.0.1',
    COLOUR: 'blue',
    PASSWORD: 's3cret',
  })
})

test('whole config maps and secrets come first, each read once, and what is said by name wins', async () => {
  const fake = cluster()
  const container = {
    envFrom: [
      { configMapRef: { name: 'settings' } },
      { prefix: 'DB_', secretRef: { name: 'login' } },
    ],
    env: [
      { name: 'COLOUR', value: 'red' },
      { name: 'SAME', valueFrom: { configMapKeyRef: reference('settings', 'COLOUR') } },
    ],
  }
  expect(await environment(container, fake)).toEqual({
    COLOUR: 'red',
    SIZE: 'large',
    DB_PASSWORD: 's3cret',
    SAME: 'blue',
  })
  expect(fake.calls.map(({ verb, key }) => `${verb} ${key}`)).toEqual([
    'get default/settings',
    'get default/login',
  ])
})

describe('services', () => {
  test('are found by address and port, each port by its own variables', async () => {
    const ports = [
      { name: 'http', port: 80, protocol: 'TCP' },
      { name: 'dns-udp', port: 53, protocol: 'UDP' },
    ]
    const services = [
      service('my-shop.v2', { clusterIP: '10.96.0.7', ports }),
      service('headless', { clusterIP: 'None', ports }),
      service('elsewhere', { type: 'ExternalName', externalName: 'example.com' }),
    ]
    expect(await environment({}, cluster(), { services })).toEqual({
      MY_SHOP_V2_SERVICE_HOST: '10.96.0.7',
      MY_SHOP_V2_SERVICE_PORT: '80',
      MY_SHOP_V2_SERVICE_PORT_HTTP: '80',
      MY_SHOP_V2_SERVICE_PORT_DNS_UDP: '53',
      MY_SHOP_V2_PORT: 'tcp://10.96.0.7:80',
      MY_SHOP_V2_PORT_80_TCP: 'tcp://10.96.0.7:80',
      MY_SHOP_V2_PORT_80_TCP_PROTO: 'tcp',
      MY_SHOP_V2_PORT_80_TCP_PORT: '80',
      MY_SHOP_V2_PORT_80_TCP_ADDR: '10.96.0.7',
      MY_SHOP_V2_PORT_53_UDP: 'udp://10.96.0.7:53',
      MY_SHOP_V2_PORT_53_UDP_PROTO: 'udp',
      MY_SHOP_V2_PORT_53_UDP_PORT: '53',
      MY_SHOP_V2_PORT_53_UDP_ADDR: '10.96.0.7',
    })
  })

  test('an IPv6 address is in brackets before a port, and names begin with no digit', async () => {
    const services = [service('1st', { clusterIP: 'fd00::7', ports: [{ port: 80 }] })]
    expect(await environment({}, cluster(), { services })).toMatchObject({
      _1ST_SERVICE_HOST: 'fd00::7',
      _1ST_PORT: 'tcp://[fd00::7]:80',
      _1ST_PORT_80_TCP_ADDR: 'fd00::7',
    })
  })

  test('without links only the API server is among them', async () => {
    const services = [service('shop', { clusterIP: '10.96.0.7', ports: [{ port: 80 }] })]
    const all = { services, apiServer }
    const names = async (enableServiceLinks: boolean) =>
      Object.keys(await environment({}, cluster(), { ...all, spec: { enableServiceLinks } }))
    expect(await names(true)).toContain('SHOP_SERVICE_HOST')
    expect(await names(false)).not.toContain('SHOP_SERVICE_HOST')
    expect(await names(false)).toContain('KUBERNETES_SERVICE_HOST')
  })

  test('can be named by values, and give way to variables of the container', async () => {
    const env = [
      { name: 'URL', value: 'https://$(KUBERNETES_SERVICE_HOST)' },
      { name: 'KUBERNETES_SERVICE_PORT', value: '6443' },
    ]
    expect(await environment({ env }, cluster(), { apiServer })).toMatchObject({
      URL: 'https://10.96.0.1',
      KUBERNETES_SERVICE_HOST: '10.96.0.1',
      KUBERNETES_SERVICE_PORT: '6443',
    })
  })
})

describe('resources', () => {
  const value = async (
    resource: string,
    more: { divisor?: string; containerName?: string } = {},
    container: Partial<Container> = {
      resources: {
        limits: { cpu: '1500m', memory: '64Mi' },
        requests: { cpu: '250m', memory: '32Mi', 'ephemeral-storage': '1Gi' },
      },
    },
  ) => {
    const env = [{ name: 'VALUE', valueFrom: { resourceFieldRef: { resource, ...more } } }]
    const other = { name: 'other', image: 'b', resources: { limits: { cpu: '3' } } }
    const spec = { containers: [{ name: 'main', image: 'a', ...container }, other] }
    return (await environment({ ...container, env }, cluster(), { spec }))['VALUE']
  }

  test.each([
    ['limits.cpu', {}, '2'],
    ['limits.cpu', { divisor: '1m' }, '1500'],
    ['requests.cpu', { divisor: '0' }, '1'],
    ['limits.memory', {}, '67108864'],
    ['limits.memory', { divisor: '1Mi' }, '64'],
    ['requests.memory', { divisor: '1Gi' }, '1'],
    ['requests.ephemeral-storage', { divisor: '1Mi' }, '1024'],
    ['limits.ephemeral-storage', { divisor: '1Gi' }, '100'],
    ['limits.cpu', { containerName: 'other' }, '3'],
  ])('%s with %j is %s', async (resource, more, expected) => {
    expect(await value(resource, more)).toBe(expected)
  })

  test('a limit that is not set is what the node has, a request nothing', async () => {
    expect(await value('limits.cpu', {}, {})).toBe('4')
    expect(await value('limits.memory', { divisor: '1Gi' }, {})).toBe('8')
    expect(await value('requests.cpu', {}, {})).toBe('0')
  })
})

describe('what is not there', () => {
  test.each([
    [
      { name: 'A', valueFrom: { configMapKeyRef: reference('settings', 'constructor') } },
      "couldn't find key constructor in ConfigMap default/settings",
    ],
    [
      { name: 'B', valueFrom: { secretKeyRef: reference('login', 'PIN') } },
      "couldn't find key PIN in Secret default/login",
    ],
    [
      { name: 'C', valueFrom: { configMapKeyRef: reference('none', 'COLOUR') } },
      'configmap "none" not found',
    ],
    [{ name: 'D', valueFrom: { secretKeyRef: reference('none', 'X') } }, 'secret "none" not found'],
  ])('%j is a fault', async (variable, message) => {
    await expect(environment({ env: [variable] })).rejects.toMatchObject({
      reason: 'CreateContainerConfigError',
      message,
    })
  })

  test('is a fault for whole config maps and secrets too', async () => {
    const envFrom = [{ secretRef: { name: 'none' } }]
    await expect(environment({ envFrom })).rejects.toThrow('secret "none" not found')
  })

  test('is left out when it is optional', async () => {
    const optional = (name: string, key: string) => ({ ...reference(name, key), optional: true })
    const env = [
      { name: 'A', valueFrom: { configMapKeyRef: optional('settings', 'constructor') } },
      { name: 'B', valueFrom: { secretKeyRef: optional('none', 'PASSWORD') } },
      { name: 'C', value: 'there' },
    ]
    const envFrom = [{ configMapRef: { name: 'none', optional: true } }]
    expect(await environment({ env, envFrom })).toEqual({ C: 'there' })
  })
})

test('values name earlier variables', async () => {
  const env = [
    { name: 'A', value: 'a' },
    { name: 'B', value: '$(A)-$(LATER)-$$(A)-$A-$(' },
    { name: 'LATER', value: '$(B)' },
  ]
  const B = 'a-$(LATER)-$(A)-$A-$('
  expect(await environment({ env })).toEqual({ A: 'a', B, LATER: B })
})

test("a container's own command finds them, its address too", async () => {
  const env = [
    { name: 'IP', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } },
    { name: 'COLOUR', valueFrom: { configMapKeyRef: reference('settings', 'COLOUR') } },
  ]
  const command = ['sh', '-c', 'echo $IP is $COLOUR; sleep 60']
  const containers = [{ name: 'main', image: 'a:1', command, env }]
  const run = await runPod(pod('web', { containers }), { cluster: cluster() })
  const { id = '' } = run.worker.container('main')
  expect(run.runtime.logs(id).map(({ text }) => text)).toEqual(['10.1.0.2 is blue'])
})
