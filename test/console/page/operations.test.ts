/** Operations on objects: which are offered, and what a drain evicts. Pure parts of the page. */
import { describe, expect, test } from 'vitest'
import type { Pod } from '../../../components/api/generated/types.ts'
import type { KubeObject } from '../../../components/machinery/objects/object.ts'
import type { Kind } from '../../../console/page/views/objects/kinds/kinds.ts'
import { planDrain, podKey } from '../../../console/page/views/objects/operations/drain-plan.ts'
import {
  operationsOf,
  replicasOf,
  restartObstacle,
  restartPatch,
} from '../../../console/page/views/objects/operations/operations.ts'

const kind = (group: string, name: string, subresources: readonly string[] = []): Kind => ({
  ...{ group, version: 'v1', plural: 'things', kind: name, isNamespaced: true, shortNames: [] },
  ...{ verbs: ['get', 'patch', 'delete'], subresources },
})
const object = (spec: object = {}): KubeObject => ({ metadata: { name: 'one' }, spec })

describe('an object', () => {
  test('has the operations of its kind', () => {
    const deployment = kind('apps', 'Deployment', ['scale', 'status'])
    expect(operationsOf(deployment, object())).toEqual(['scale', 'restart'])
    expect(operationsOf(kind('apps', 'DaemonSet'), object())).toEqual(['restart'])
    expect(operationsOf(kind('example.com', 'Widget', ['scale']), object())).toEqual(['scale'])
    expect(operationsOf(kind('example.com', 'Deployment'), object())).toEqual([])
    expect(operationsOf(kind('', 'ConfigMap'), object())).toEqual([])
  })

  test('that is a cordoned node can be uncordoned', () => {
    expect(operationsOf(kind('', 'Node'), object())).toEqual(['drain'])
    const cordoned = object({ unschedulable: true })
    expect(operationsOf(kind('', 'Node'), cordoned)).toEqual(['drain', 'uncordon'])
  })

  test('that cannot be patched has none that patch it', () => {
    const fixed = { ...kind('', 'Node'), verbs: ['get'] }
    expect(operationsOf(fixed, object({ unschedulable: true }))).toEqual([])
  })

  test('is restarted by the time in its template, in whole seconds', () => {
    expect(restartPatch('kubectl.kubernetes.io/restartedAt', 1_000_000_123)).toEqual({
      spec: {
        template: {
          metadata: {
            annotations: { 'kubectl.kubernetes.io/restartedAt': '1970-01-12T13:46:40Z' },
          },
        },
      },
    })
  })

  test('that is a paused deployment says so', () => {
    const paused = { ...object({ paused: true }), kind: 'Deployment' }
    expect(restartObstacle(paused)).toMatch('paused')
    expect(restartObstacle({ ...object(), kind: 'Deployment' })).toBeUndefined()
  })
})

test('replicas are whole numbers from 0', () => {
  expect(['0', '12', ' 3 ', '', '-1', '1.5', '1e3', 'x', '2147483648'].map(replicasOf)).toEqual([
    ...[0, 12, 3],
    ...Array.from({ length: 6 }, () => undefined),
  ])
})

describe('a drain', () => {
  const mirrorAnnotation = 'kubernetes.io/config.mirror'
  const pod = (name: string, owner?: string, more: Partial<Pod> = {}): Pod => ({
    ...more,
    metadata: {
      ...{ namespace: 'default', name },
      ...more.metadata,
      ...(owner !== undefined && {
        ownerReferences: [
          { apiVersion: 'apps/v1', kind: owner, name: 'web', uid: 'u', controller: true },
        ],
      }),
    },
  })
  const emptyDir = { spec: { containers: [], volumes: [{ name: 'a', emptyDir: {} }] } }
  const pods = [
    pod('web', 'ReplicaSet'),
    pod('agent', 'DaemonSet'),
    pod('static', undefined, { metadata: { annotations: { [mirrorAnnotation]: 'x' } } }),
    pod('bare'),
    pod('cache', 'ReplicaSet', emptyDir),
    pod('done', undefined, { ...emptyDir, status: { phase: 'Succeeded' } }),
  ]

  test('leaves pods of DaemonSets and of files, and asks before anything is lost', () => {
    const careful = { force: false, deleteEmptyDirData: false, mirrorAnnotation }
    const { evicted, left, obstacles } = planDrain(pods, careful)
    expect(evicted.map(podKey)).toEqual(['web', 'bare', 'cache', 'done'].map((n) => `default/${n}`))
    expect(left.map(({ key }) => key)).toEqual(['default/agent', 'default/static'])
    expect(obstacles.map(({ key }) => key)).toEqual(['default/bare', 'default/cache'])
  })

  test('begins once the viewer has chosen to lose it', () => {
    const chosen = { force: true, deleteEmptyDirData: true, mirrorAnnotation }
    expect(planDrain(pods, chosen).obstacles).toEqual([])
  })
})
