/** LimitRanger: defaults for containers, bounds for containers, Pods and claims. */
import { describe, expect, test } from 'vitest'
import { dialects } from '../../../components/api/dialect.ts'
import type { KubeObject } from '../../../components/machinery/objects/object.ts'
import { user } from '../../support/api-server.ts'
import { describeDialects } from '../../support/shared-server.ts'
import { admissionWorld } from './world.ts'

function world(...limits: object[]) {
  const made = admissionWorld(['LimitRanger'])
  made.reader.put(made.resources.limitRanges, {
    metadata: { name: 'r', namespace: 'a' },
    spec: { limits },
  })
  const { pods, persistentVolumeClaims } = made.resources
  const outcome = async (resource: typeof pods, object: object): Promise<string> =>
    (await made.outcome({ resource, object: object as KubeObject })).replace(
      /^403 .* is forbidden: /,
      '',
    )
  return {
    ...made,
    pod: (spec: object) => outcome(pods, { metadata: { name: 'p', namespace: 'a' }, spec }),
    claim: (storage: string) =>
      outcome(persistentVolumeClaims, {
        metadata: { name: 'c', namespace: 'a' },
        spec: { resources: { requests: { storage } } },
      }),
  }
}
const container = (name: string, requests: object, limits: object = {}) => ({
  name,
  resources: { requests, limits },
})

describe('bounds', () => {
  test('of containers', async () => {
    const { pod } = world({
      type: 'Container',
      min: { cpu: '100m' },
      max: { cpu: '1' },
      maxLimitRequestRatio: { cpu: '4' },
    })
    const one = (requests: object, limits: object) =>
      pod({ containers: [container('c', requests, limits)] })
    expect(await one({ cpu: '500m' }, { cpu: '1' })).toBe('admitted')
    expect(await one({ cpu: '50m' }, { cpu: '100m' })).toBe(
      'minimum cpu usage per Container is 100m, but request is 50m',
    )
    expect(await one({ cpu: '500m' }, { cpu: '2' })).toBe(
      'maximum cpu usage per Container is 1, but limit is 2',
    )
    expect(await one({ cpu: '200m' }, { cpu: '1' })).toBe(
      'cpu max limit to request ratio per Container is 4, but provided ratio is 5.000000',
    )
    expect(await one({}, {})).toBe(
      '[minimum cpu usage per Container is 100m.  No request is specified, ' +
        'maximum cpu usage per Container is 1.  No limit is specified, ' +
        'cpu max limit to request ratio per Container is 4, but no request is specified or request is 0]',
    )
  })

  test('of Pods as a whole, initialization and sidecars included', async () => {
    const { pod } = world({ type: 'Pod', max: { memory: '1Gi' } })
    const memory = (amount: string) => [{ memory: amount }, { memory: amount }] as const
    const [half, most] = [memory('512Mi'), memory('1Gi')]
    const containers = [container('a', ...half)]
    expect(await pod({ containers: [...containers, container('b', ...half)] })).toBe('admitted')
    expect(await pod({ containers, initContainers: [container('i', ...most)] })).toBe('admitted')
    const sidecar = { ...container('s', ...half), restartPolicy: 'Always' }
    expect(await pod({ containers, initContainers: [sidecar] })).toBe('admitted')
    const last = container('i', ...most)
    expect(await pod({ containers, initContainers: [sidecar, last] })).toBe(
      'maximum memory usage per Pod is 1Gi, but limit is 1536Mi',
    )
  })

  test('of claims', async () => {
    const { claim } = world({
      type: 'PersistentVolumeClaim',
      min: { storage: '1Gi' },
      max: { storage: '5Gi' },
    })
    expect(await claim('2Gi')).toBe('admitted')
    expect(await claim('1Mi')).toBe(
      'minimum storage usage per PersistentVolumeClaim is 1Gi, but request is 1Mi',
    )
    expect(await claim('6Gi')).toBe(
      'maximum storage usage per PersistentVolumeClaim is 5Gi, but request is 6Gi',
    )
  })
})

describeDialects('limit ranges', (server) => {
  test('give containers what they do not ask for, and say so', async () => {
    const ns = await server().namespace()
    const core = `/api/v1/namespaces/${ns}`
    const limits = [
      { type: 'Container', default: { cpu: '500m', memory: '64Mi' }, max: { cpu: '2' } },
    ]
    await server().ok('POST', `${core}/limitranges`, {
      body: { metadata: { name: 'r' }, spec: { limits } },
    })
    const containers = [
      { name: 'bare', image: 'i' },
      { name: 'own', image: 'i', resources: { requests: { cpu: '1' }, limits: { cpu: '2' } } },
    ]
    const pod = await server().ok('POST', `${core}/pods`, {
      body: { metadata: { name: 'p' }, spec: { containers } },
    })
    const all = { cpu: '500m', memory: '64Mi' }
    expect(pod.spec.containers.map(({ resources }: { resources: object }) => resources)).toEqual([
      { limits: all, requests: all },
      { limits: { cpu: '2', memory: '64Mi' }, requests: { cpu: '1', memory: '64Mi' } },
    ])
    expect(pod.metadata.annotations).toEqual({
      [`${dialects[server().dialect.name].labelDomain}/limit-ranger`]:
        'LimitRanger plugin set: cpu, memory request for container bare; cpu, memory limit for container bare; memory request for container own; memory limit for container own',
    })
    expect(pod.status.qosClass).toBe('Burstable')
    const big = { name: 'c', image: 'i', resources: { limits: { cpu: '3' } } }
    const refused = await server().request('POST', `${core}/pods`, {
      body: { metadata: { name: 'big' }, spec: { containers: [big] } },
      as: user('jane', 'system:masters'),
    })
    expect([refused.status, refused.body.message]).toEqual([
      403,
      'pods "big" is forbidden: maximum cpu usage per Container is 2, but limit is 3',
    ])
  })
})
