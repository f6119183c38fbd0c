/** What a container finds in its environment, wherever its pod has it from. */
import { expect, test } from 'vitest'
import { dialects } from '../../components/api/dialect.ts'
import type { Container } from '../../components/api/generated/types.ts'
import { resourcesOf } from '../../components/api/resources.ts'
import { silentLog } from '../../components/component-base/log.ts'
import { createPodEnvironment } from '../../components/node-agent/pod-environment.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { FakeCluster } from '../support/fake-client.ts'
import { pod, runPod } from './build.ts'

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

function environment(container: Partial<Container>, fake = cluster()) {
  const described = pod('web', { serviceAccountName: 'robot' })
  described.metadata.labels = { app: 'shop' }
  described.status = { podIP: '10.1.0.2', podIPs: [{ ip: '10.1.0.2' }], hostIP: '127.0.0.1' }
  const of = createPodEnvironment({ client: fake.client(), log: silentLog })
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

test('what is not there is left out', async () => {
  const env = [
    { name: 'A', valueFrom: { configMapKeyRef: reference('settings', 'constructor') } },
    { name: 'B', valueFrom: { configMapKeyRef: reference('none', 'COLOUR') } },
    { name: 'C', valueFrom: { secretKeyRef: reference('none', 'PASSWORD') } },
    { name: 'D', value: 'there' },
  ]
  const envFrom = [{ secretRef: { name: 'none' } }]
  expect(await environment({ env, envFrom })).toEqual({ D: 'there' })
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
