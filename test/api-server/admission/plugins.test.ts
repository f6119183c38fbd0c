import { describe, expect, test } from 'vitest'
import type { KubeObject } from '../../../components/machinery/objects/object.ts'
import { StatusError } from '../../../components/machinery/objects/status-error.ts'
import { admissionWorld } from './world.ts'

describe('NamespaceLifecycle', () => {
  const { reader, resources, outcome, admit } = admissionWorld(['NamespaceLifecycle'])
  const { configMaps, namespaces } = resources
  const late: KubeObject = { metadata: { namespace: 't1', name: 'late' } }
  reader.put(namespaces, { metadata: { name: 't1' }, status: { phase: 'Terminating' } })
  reader.put(namespaces, { metadata: { name: 'a' }, status: { phase: 'Active' } })

  test('nothing is made in a namespace that does not exist', async () => {
    const object = { metadata: { namespace: 'none', name: 'x' } }
    expect(await outcome({ resource: configMaps, object })).toBe('404 namespaces "none" not found')
    const inA = { metadata: { namespace: 'a', name: 'x' } }
    expect(await outcome({ resource: configMaps, object: inA })).toBe('admitted')
  })

  test('nothing new is made in a namespace that is being terminated', async () => {
    const error = await admit({ resource: configMaps, object: late }).catch((e: unknown) => e)
    expect((error as StatusError).toStatus()).toEqual({
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message:
        'configmaps "late" is forbidden: unable to create new content in namespace t1 because it is being terminated',
      reason: 'Forbidden',
      details: {
        name: 'late',
        kind: 'configmaps',
        causes: [
          {
            reason: 'NamespaceTerminating',
            message: 'namespace t1 is being terminated',
            field: 'metadata.namespace',
          },
        ],
      },
      code: 403,
    })
  })

  test('but what is there may change and go', async () => {
    const at = { resource: configMaps, namespace: 't1', name: 'late', old: late }
    expect(await outcome({ ...at, operation: 'UPDATE', object: late })).toBe('admitted')
    expect(await outcome({ ...at, operation: 'DELETE' })).toBe('admitted')
    expect(await outcome({ ...at, operation: 'DELETE', namespace: 'none' })).toBe('admitted')
  })

  test("the system's namespaces stay", async () => {
    for (const name of ['default', 'kube-system', 'kube-public']) {
      expect(await outcome({ resource: namespaces, operation: 'DELETE', name })).toBe(
        `403 namespaces "${name}" is forbidden: this namespace may not be deleted`,
      )
    }
    expect(await outcome({ resource: namespaces, operation: 'DELETE', name: 'a' })).toBe('admitted')
    const other = { resource: configMaps, operation: 'DELETE' as const, namespace: 'a' }
    expect(await outcome({ ...other, name: 'default' })).toBe('admitted')
    const object = { metadata: { name: 'default' } }
    expect(await outcome({ resource: namespaces, operation: 'UPDATE', object })).toBe('admitted')
  })

  test('what is in no namespace needs none', async () => {
    const object = { metadata: { name: 'n1' } }
    expect(await outcome({ resource: resources.nodes, object })).toBe('admitted')
    expect(await outcome({ resource: namespaces, namespace: 'new', object })).toBe('admitted')
  })

  test('reviews may ask about a namespace that does not exist', async () => {
    const asked = { resource: resources.localSubjectAccessReviews, namespace: 'none' }
    expect(await outcome({ ...asked, object: { metadata: {} } })).toBe('admitted')
    const stored = { ...asked, resource: resources.leases }
    expect(await outcome({ ...stored, object: { metadata: {} } })).toContain('404')
  })
})

describe('DefaultTolerationSeconds', () => {
  const { admit, resources } = admissionWorld(['DefaultTolerationSeconds'])
  const tolerationsOf = async (tolerations?: object[]): Promise<unknown> => {
    const object = { metadata: {}, spec: { containers: [], ...(tolerations && { tolerations }) } }
    return (await admit({ resource: resources.pods, object }))?.['spec'].tolerations
  }
  const added = (name: string) => ({
    key: `node.kubernetes.io/${name}`,
    operator: 'Exists',
    effect: 'NoExecute',
    tolerationSeconds: 300,
  })

  test('a pod tolerates an unready and an unreachable node for five minutes', async () => {
    expect(await tolerationsOf()).toEqual([added('not-ready'), added('unreachable')])
  })

  test('what the pod says about them counts', async () => {
    const own = { key: 'node.kubernetes.io/not-ready', operator: 'Exists', tolerationSeconds: 1 }
    expect(await tolerationsOf([own])).toEqual([own, added('unreachable')])
    const all = { operator: 'Exists' }
    expect(await tolerationsOf([all])).toEqual([all])
    const other = { ...own, effect: 'NoSchedule' }
    expect(await tolerationsOf([other])).toEqual([other, added('not-ready'), added('unreachable')])
    const whole = [added('not-ready'), added('unreachable')]
    expect(await tolerationsOf(whole)).toEqual(whole)
    const unrelated = { key: 'example.com/x', operator: 'Exists' }
    expect(await tolerationsOf([unrelated])).toEqual([unrelated, ...whole])
  })

  test('pods alone get them, new or changed, never through a sub-resource', async () => {
    const object = { metadata: {}, spec: { containers: [] } }
    const specOf = async (asked: object) =>
      (await admit({ resource: resources.pods, object, ...asked }))?.['spec']
    expect(await specOf({ operation: 'UPDATE', old: object })).toHaveProperty('tolerations')
    expect(await specOf({ operation: 'UPDATE', subresource: 'status' })).toEqual(object.spec)
    expect(await specOf({ resource: resources.replicaSets })).toEqual(object.spec)
    expect(await specOf({ operation: 'DELETE' })).toEqual(object.spec)
    expect(await specOf({ object: { metadata: {} } })).toBeUndefined()
  })
})

describe('Priority', () => {
  function world() {
    const made = admissionWorld(['Priority'])
    const put = (name: string, more: object): void => {
      made.reader.put(made.resources.priorityClasses, { metadata: { name }, ...more })
    }
    put('high', { value: 100, preemptionPolicy: 'Never' })
    const specOf = async (spec: object): Promise<KubeObject['spec']> =>
      (await made.admit({ resource: made.resources.pods, object: pod(spec) }))?.['spec']
    return { ...made, put, specOf }
  }
  const pod = (spec: object): KubeObject => ({ metadata: { name: 'p', namespace: 'a' }, spec })

  test("a pod gets its class's priority and policy", async () => {
    const { specOf } = world()
    expect(await specOf({ priorityClassName: 'high' })).toEqual({
      priorityClassName: 'high',
      priority: 100,
      preemptionPolicy: 'Never',
    })
  })

  test('without a class it gets the default class, or zero', async () => {
    const { specOf, put } = world()
    expect(await specOf({})).toEqual({ priority: 0, preemptionPolicy: 'PreemptLowerPriority' })
    put('usual', { value: 7, globalDefault: true })
    expect(await specOf({})).toMatchObject({ priorityClassName: 'usual', priority: 7 })
    expect(await specOf({ priorityClassName: '' })).toMatchObject({ priorityClassName: 'usual' })
  })

  test('of several default classes the lowest counts', async () => {
    const { specOf, put } = world()
    put('b', { value: 7, globalDefault: true })
    put('a', { value: 70, globalDefault: true })
    put('c', { value: 1, globalDefault: false })
    expect(await specOf({})).toMatchObject({ priorityClassName: 'b', priority: 7 })
  })

  test('a policy of its own is refused unless it is that of the class', async () => {
    const { specOf, outcome, resources } = world()
    const never = { priorityClassName: 'high', preemptionPolicy: 'Never' }
    expect(await specOf(never)).toMatchObject(never)
    const object = pod({ ...never, preemptionPolicy: 'PreemptLowerPriority' })
    expect(await outcome({ resource: resources.pods, object })).toContain(
      'the string value of PreemptionPolicy (PreemptLowerPriority) must not be provided in pod spec; priority admission controller computed Never',
    )
  })

  test('null is no priority of its own', async () => {
    const { specOf } = world()
    const given = { priorityClassName: 'high', priority: null, preemptionPolicy: null }
    expect(await specOf(given)).toMatchObject({ priority: 100, preemptionPolicy: 'Never' })
  })

  test('nothing else than pods gets one, and no sub-resource', async () => {
    const { admit, resources } = world()
    const object = pod({})
    expect(await admit({ resource: resources.replicaSets, object })).toEqual(object)
    expect(await admit({ resource: resources.pods, subresource: 'x', object })).toEqual(object)
    const { spec: _, ...bare } = object
    expect(await admit({ resource: resources.pods, object: bare })).toEqual(bare)
  })

  test('an unknown class, or a priority of its own, is refused', async () => {
    const { outcome, resources } = world()
    const ask = (spec: object) => outcome({ resource: resources.pods, object: pod(spec) })
    expect(await ask({ priorityClassName: 'none' })).toBe(
      '403 pods "p" is forbidden: no PriorityClass with name none was found',
    )
    expect(await ask({ priority: 5 })).toBe(
      '403 pods "p" is forbidden: the integer value of priority (5) must not be provided in pod spec; priority admission controller computed 0 from the given PriorityClass name',
    )
    expect(await ask({ priorityClassName: 'high', priority: 100 })).toBe('admitted')
  })

  test('an update that leaves the priority out keeps it', async () => {
    const { admit, resources } = world()
    const old = pod({ priority: 100, preemptionPolicy: 'Never' })
    const at = { resource: resources.pods, operation: 'UPDATE' as const, old }
    expect((await admit({ ...at, object: pod({}) }))?.['spec']).toEqual(old['spec'])
    const other = { priority: 5, preemptionPolicy: 'Never' }
    expect((await admit({ ...at, object: pod(other) }))?.['spec']).toEqual(other)
    expect((await admit({ ...at, old: pod({}), object: pod({}) }))?.['spec']).toEqual({})
  })

  test('only one class is the default', async () => {
    const { outcome, resources, put } = world()
    put('usual', { value: 7, globalDefault: true })
    const write = (name: string) =>
      outcome({
        resource: resources.priorityClasses,
        object: { metadata: { name }, value: 1, globalDefault: true },
      })
    expect(await write('second')).toContain('PriorityClass usual is already marked as default')
    expect(await write('usual')).toBe('admitted')
    const plain = { metadata: { name: 'second' }, value: 1 }
    expect(await outcome({ resource: resources.priorityClasses, object: plain })).toBe('admitted')
    const change = { operation: 'UPDATE' as const, old: plain }
    const object = { ...plain, globalDefault: true }
    expect(await outcome({ resource: resources.priorityClasses, ...change, object })).toContain(
      'already marked as default',
    )
    const other = { resource: resources.runtimeClasses, object }
    expect(await outcome(other)).toBe('admitted')
    expect(
      await outcome({ resource: resources.priorityClasses, operation: 'DELETE', name: 'second' }),
    ).toBe('admitted')
  })

  test('the first default class is admitted', async () => {
    const { outcome, resources } = world()
    const object = { metadata: { name: 'first' }, value: 1, globalDefault: true }
    expect(await outcome({ resource: resources.priorityClasses, object })).toBe('admitted')
  })
})

describe('TaintNodesByCondition', () => {
  test('a new node is not ready until it has been seen so', async () => {
    const { admit, resources } = admissionWorld(['TaintNodesByCondition'])
    const taint = { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' }
    const object: KubeObject = { metadata: { name: 'n1' } }
    expect((await admit({ resource: resources.nodes, object }))?.['spec'].taints).toEqual([taint])
    for (const other of [
      { ...taint, key: 'x' },
      { ...taint, effect: 'NoExecute' },
    ]) {
      const marked = { ...object, spec: { podCIDR: '10.0.0.0/24', taints: [other] } }
      const admitted = await admit({ resource: resources.nodes, object: marked })
      expect(admitted?.['spec']).toEqual({ podCIDR: '10.0.0.0/24', taints: [other, taint] })
    }
    const change = { operation: 'UPDATE' as const, old: object, object }
    expect(await admit({ resource: resources.nodes, ...change })).toEqual(object)
    expect(await admit({ resource: resources.nodes, subresource: 'status', object })).toEqual(
      object,
    )
    expect(await admit({ resource: resources.pods, object })).toEqual(object)
    const tainted = { ...object, spec: { taints: [taint] } }
    expect((await admit({ resource: resources.nodes, object: tainted }))?.['spec'].taints).toEqual([
      taint,
    ])
  })
})
