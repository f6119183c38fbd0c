/** managedFields beyond plain applies: sub-resources, Scales, resets, bounds, client-side apply, other versions. */
import { describe, expect, it } from 'vitest'
import { timestamp } from '../../../components/component-base/clock.ts'
import { startApiServer, type Reply } from '../../support/api-server.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { sharedServer } from '../../support/shared-server.ts'

const merge = { 'content-type': 'application/merge-patch+json' }
const strategic = { 'content-type': 'application/strategic-merge-patch+json' }
const applyType = { 'content-type': 'application/apply-patch+yaml' }
const lastApplied = 'kubectl.kubernetes.io/last-applied-configuration'

interface Entry {
  manager: string
  operation: string
  apiVersion: string
  time?: string
  subresource?: string
  fieldsV1: Record<string, Record<string, unknown>>
}

// oxlint-disable-next-line typescript/no-explicit-any -- objects of every kind
type Body = any

const entriesOf = (object: Body): Entry[] => object.metadata.managedFields ?? []

/** `operation manager[/subresource]` -> fields. */
function owners(object: Body): Record<string, unknown> {
  return Object.fromEntries(
    entriesOf(object).map(({ manager, operation, subresource, fieldsV1 }) => [
      `${operation} ${manager}${subresource === undefined ? '' : `/${subresource}`}`,
      fieldsV1,
    ]),
  )
}

const template = {
  metadata: { labels: { a: 'b' } },
  spec: { containers: [{ name: 'c', image: 'i' }] },
}
const workload = (name: string, replicas?: number) => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name },
  spec: {
    ...(replicas !== undefined && { replicas }),
    selector: { matchLabels: { a: 'b' } },
    template,
  },
})
const ownsReplicas = { 'f:spec': { 'f:replicas': {} } }

describe('managedFields', () => {
  const server = sharedServer()
  const apply = (path: string, body: unknown, query: string): Promise<Reply> =>
    server().request('PATCH', `${path}?${query}`, { body, headers: applyType })
  const applied = async (path: string, body: unknown, query: string): Promise<Body> => {
    const reply = await apply(path, body, query)
    expect(reply.status, reply.text).toBeLessThan(300)
    return reply.body
  }
  const place = async (rest: string): Promise<string> => {
    const root = rest === 'configmaps' || rest === 'pods' ? '/api/v1' : '/apis/apps/v1'
    return `${root}/namespaces/${await server().namespace()}/${rest}`
  }

  it('name who changed the status, by its sub-resource; plain writes own none of it', async () => {
    const at = await place('pods')
    const body = { metadata: { name: 'p' }, spec: template.spec, status: { phase: 'Failed' } }
    const made = await server().ok('POST', `${at}?fieldManager=maker`, { body })
    expect(Object.keys(entriesOf(made)[0]?.fieldsV1 ?? {})).toEqual(['f:spec'])
    const status = { conditions: [{ type: 'Ready', status: 'True' }], podIP: '10.0.0.1' }
    const patched = await server().ok('PATCH', `${at}/p/status?fieldManager=agent`, {
      headers: strategic,
      body: { status, spec: { nodeName: 'elsewhere' } },
    })
    expect(owners(patched)['Update agent/status']).toEqual({
      'f:status': {
        'f:conditions': {
          '.': {},
          'k:{"type":"Ready"}': {
            '.': {},
            'f:lastProbeTime': {},
            'f:lastTransitionTime': {},
            'f:status': {},
            'f:type': {},
          },
        },
        'f:podIP': {},
      },
    })
    const plain = await server().ok('PUT', `${at}/p?fieldManager=plain`, {
      body: { ...patched, status: {} },
    })
    expect(plain).toEqual(patched)
    const other = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'p' },
      status: { podIP: '10.0.0.2' },
    }
    const refused = await apply(`${at}/p/status`, other, 'fieldManager=b')
    expect(refused.body.message).toBe(
      'Apply failed with 1 conflict: conflict with "agent" with subresource "status" using v1: .status.podIP',
    )
    const forced = await applied(`${at}/p/status`, other, 'fieldManager=b&force=true')
    expect(owners(forced)['Apply b/status']).toEqual({ 'f:status': { 'f:podIP': {} } })
    expect(forced.status.podIP).toBe('10.0.0.2')
    // Through the object itself the status is nobody's.
    const ignored = await applied(
      `${at}/p`,
      { ...other, status: { podIP: '10.0.0.3' } },
      'fieldManager=b',
    )
    expect(ignored.status.podIP).toBe('10.0.0.2')
  })

  it('tell who scaled a workload, by patch, update and apply of its Scale', async () => {
    const at = await place('deployments')
    await applied(`${at}/d`, workload('d', 1), 'fieldManager=a')
    const get = () => server().ok('GET', `${at}/d`)
    await server().ok('PATCH', `${at}/d/scale?fieldManager=s1`, {
      headers: merge,
      body: { spec: { replicas: 5 } },
    })
    expect(owners(await get())['Update s1/scale']).toEqual(ownsReplicas)
    expect(JSON.stringify(owners(await get())['Apply a'])).not.toContain('f:replicas')
    const refused = await apply(`${at}/d`, workload('d', 1), 'fieldManager=a')
    expect(refused.body.message).toBe(
      'Apply failed with 1 conflict: conflict with "s1" with subresource "scale" using apps/v1: .spec.replicas',
    )
    const scale = await server().ok('GET', `${at}/d/scale`)
    expect(scale.metadata.managedFields).toBeUndefined()
    const put = await server().ok('PUT', `${at}/d/scale?fieldManager=s2`, {
      body: { ...scale, spec: { replicas: 6 } },
    })
    expect(put.spec.replicas).toBe(6)
    expect(owners(await get())['Update s2/scale']).toEqual(ownsReplicas)
    expect(owners(await get())['Update s1/scale']).toBeUndefined()
    const config = { apiVersion: 'autoscaling/v1', kind: 'Scale', metadata: { name: 'd' } }
    const seven = { ...config, spec: { replicas: 7 } }
    const conflict = await apply(`${at}/d/scale`, seven, 'fieldManager=s3')
    expect(conflict.status).toBe(409)
    expect(conflict.body.message).toBe(
      'Apply failed with 1 conflict: conflict with "s2" with subresource "scale" using autoscaling/v1: .spec.replicas',
    )
    await applied(`${at}/d/scale`, seven, 'fieldManager=s3&force=true')
    const both = await applied(`${at}/d`, workload('d', 7), 'fieldManager=a')
    expect(owners(both)['Apply s3/scale']).toEqual(ownsReplicas)
    expect(entriesOf(both).map(({ apiVersion }) => apiVersion)).toEqual(['apps/v1', 'apps/v1'])
    expect(both.spec.replicas).toBe(7)
    const missing = await apply(`${at}/none/scale`, seven, 'fieldManager=s3')
    expect(missing.status).toBe(404)
    const version = { ...seven, metadata: { name: 'd', resourceVersion: '1' } }
    expect((await apply(`${at}/d/scale`, version, 'fieldManager=s3')).status).toBe(409)
  })

  it('leave out what only the server sets, and what names the object', async () => {
    const at = await place('configmaps')
    const body = {
      metadata: {
        generateName: 'x-',
        uid: 'u',
        creationTimestamp: '2020-01-01T00:00:00Z',
        generation: 5,
        deletionTimestamp: '2020-01-01T00:00:00Z',
        deletionGracePeriodSeconds: 5,
        labels: { l: '1' },
      },
    }
    const made = await server().ok('POST', at, { body })
    expect(entriesOf(made)[0]?.fieldsV1).toEqual({
      'f:metadata': { 'f:generateName': {}, 'f:labels': { '.': {}, 'f:l': {} } },
    })
    expect(made.metadata).toMatchObject({ generation: 5 })
    expect(made.metadata.deletionTimestamp).toBeUndefined()
    const empty = await server().ok('POST', at, { body: { metadata: { name: 'e' } } })
    expect(empty.metadata.managedFields).toBeUndefined()
  })

  it('own the data of a ControllerRevision as one value, as OpenAPI has no fields of it', async () => {
    const at = await place('controllerrevisions')
    const body = { metadata: { name: 'r' }, revision: 1, data: { spec: { note: 'by hand' } } }
    const made = await server().ok('POST', at, { body })
    expect(entriesOf(made)[0]?.fieldsV1).toEqual({ 'f:data': {}, 'f:revision': {} })
  })

  it.each([
    ['an empty list', []],
    ['one empty entry', [{}]],
  ])('are forgotten by %s, and begin again with the first apply', async (_, managedFields) => {
    const at = await place('configmaps')
    const body = { metadata: { name: 'x' }, data: { a: '1' } }
    const made = await server().ok('POST', at, { body })
    expect(entriesOf(made)).toHaveLength(1)
    const reset = await server().ok('PUT', `${at}/x`, {
      body: { ...body, metadata: { name: 'x', managedFields } },
    })
    expect(reset.metadata.managedFields).toBeUndefined()
    const after = await server().ok('PATCH', `${at}/x?fieldManager=later`, {
      headers: merge,
      body: { data: { b: '1' } },
    })
    expect(after.metadata.managedFields).toBeUndefined()
    const config = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'x' } }
    const first = await applied(`${at}/x`, { ...config, data: { c: '1' } }, 'fieldManager=one')
    expect(owners(first)).toEqual({
      'Apply one': { 'f:data': { 'f:c': {} } },
      'Update before-first-apply': { 'f:data': { '.': {}, 'f:a': {}, 'f:b': {} } },
    })
    const refused = await apply(`${at}/x`, { ...config, data: { a: '2' } }, 'fieldManager=one')
    expect(refused.body.message).toBe(
      'Apply failed with 1 conflict: conflict with "before-first-apply" using v1: .data.a',
    )
    const again = await server().ok('PATCH', `${at}/x`, {
      headers: merge,
      body: { metadata: { managedFields } },
    })
    expect(again.metadata.managedFields).toBeUndefined()
  })

  it('are kept when a client leaves them out or sends some that nobody can read, and taken when it sends others', async () => {
    const at = await place('configmaps')
    const body = { metadata: { name: 'x' }, data: { a: '1' } }
    const made = await server().ok('POST', `${at}?fieldManager=maker`, { body })
    const put = await server().ok('PUT', `${at}/x?fieldManager=other`, { body })
    expect(put).toEqual(made)
    const [entry] = entriesOf(made)
    const own = { ...entry, manager: 'moved', fieldsV1: { 'f:data': { 'f:a': {}, '.': {} } } }
    const moved = await server().ok('PUT', `${at}/x?fieldManager=other`, {
      body: { ...body, metadata: { name: 'x', managedFields: [own] } },
    })
    expect(owners(moved)).toEqual({ 'Update moved': { 'f:data': { '.': {}, 'f:a': {} } } })
    for (const bad of [
      { ...entry, fieldsV1: { 'k:x': {} } },
      { ...entry, fieldsV1: 'x' },
      { ...entry, apiVersion: '' },
      { ...entry, fieldsType: '' },
    ]) {
      const same = await server().ok('PUT', `${at}/x?fieldManager=other`, {
        body: { ...body, metadata: { name: 'x', managedFields: [bad] } },
      })
      expect(same).toEqual(moved)
    }
    const created = await server().ok('POST', `${at}?fieldManager=maker`, {
      body: { data: { a: '1' }, metadata: { name: 'y', managedFields: [own] } },
    })
    expect(Object.keys(owners(created))).toEqual(['Update maker'])
  })

  it('keep ten updaters apart; the oldest become ancient-changes', async () => {
    // Certificates are of real time.
    const startMs = Date.now()
    const clock = new FakeClock(startMs)
    await using timed = await startApiServer({ clock })
    const body = { metadata: { name: 'x' }, data: { k0: 'v' } }
    const path = '/api/v1/namespaces/default/configmaps'
    let now = await timed.ok('POST', `${path}?fieldManager=m0`, { body })
    for (let index = 1; index <= 12; index += 1) {
      await clock.step(60_000)
      now = await timed.ok('PATCH', `${path}/x?fieldManager=m${index}`, {
        headers: merge,
        body: { data: { [`k${index}`]: 'v' } },
      })
    }
    const entries = entriesOf(now)
    expect(entries).toHaveLength(10)
    expect(entries.map(({ manager }) => manager)).toEqual([
      'ancient-changes',
      ...[4, 5, 6, 7, 8, 9, 10, 11, 12].map((index) => `m${index}`),
    ])
    expect(entries[0]?.fieldsV1).toEqual({
      'f:data': { '.': {}, 'f:k0': {}, 'f:k1': {}, 'f:k2': {}, 'f:k3': {} },
    })
    expect(entries[0]?.time).toBe(timestamp(startMs + 3 * 60_000))
  })

  it('move from client-side to server-side apply without conflicts for what kubectl applied itself', async () => {
    const at = await place('deployments')
    const config = workload('d', 2)
    const annotations = { [lastApplied]: `${JSON.stringify(config)}\n` }
    await server().ok('POST', `${at}?fieldManager=kubectl-client-side-apply`, {
      body: { ...config, metadata: { name: 'd', annotations } },
    })
    const changed = workload('d', 3)
    const other = await apply(`${at}/d`, changed, 'fieldManager=somebody')
    expect(other.body.message).toBe(
      'Apply failed with 1 conflict: conflict with "kubectl-client-side-apply" using apps/v1: .spec.replicas',
    )
    const taken = await applied(`${at}/d`, changed, 'fieldManager=kubectl')
    expect(taken.spec.replicas).toBe(3)
    const annotation = JSON.parse(taken.metadata.annotations[lastApplied])
    expect(annotation).toEqual(changed)
    // What somebody changed in between was not kubectl's to take.
    await server().ok('PATCH', `${at}/d?fieldManager=somebody`, {
      headers: merge,
      body: { spec: { replicas: 9 } },
    })
    const refused = await apply(`${at}/d`, workload('d', 4), 'fieldManager=kubectl')
    expect(refused.body.message).toBe(
      'Apply failed with 1 conflict: conflict with "somebody" using apps/v1: .spec.replicas',
    )
  })

  it('are of the version that was written, and compared in it', async () => {
    const ns = await server().namespace()
    const v1 = `/apis/autoscaling/v1/namespaces/${ns}/horizontalpodautoscalers`
    const v2 = `/apis/autoscaling/v2/namespaces/${ns}/horizontalpodautoscalers`
    const spec = {
      scaleTargetRef: { kind: 'Deployment', name: 'd', apiVersion: 'apps/v1' },
      maxReplicas: 5,
    }
    const base = { kind: 'HorizontalPodAutoscaler', metadata: { name: 'h' } }
    const one = { ...base, apiVersion: 'autoscaling/v1' }
    const made = await applied(
      `${v1}/h`,
      { ...one, spec: { ...spec, targetCPUUtilizationPercentage: 50 } },
      'fieldManager=a',
    )
    expect(owners(made)['Apply a']).toEqual({
      'f:spec': {
        'f:maxReplicas': {},
        'f:scaleTargetRef': {},
        'f:targetCPUUtilizationPercentage': {},
      },
    })
    const cpu = (averageUtilization: number) => ({
      type: 'Resource',
      resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization } },
    })
    const two = { ...base, apiVersion: 'autoscaling/v2' }
    const refused = await apply(
      `${v2}/h`,
      { ...two, spec: { ...spec, metrics: [cpu(60)] } },
      'fieldManager=b',
    )
    expect(refused.body.message).toBe(
      'Apply failed with 1 conflict: conflict with "a": .spec.targetCPUUtilizationPercentage',
    )
    const put = await server().ok('PATCH', `${v2}/h?fieldManager=c`, {
      headers: merge,
      body: { spec: { metrics: [cpu(70)] } },
    })
    expect(owners(put)).toEqual({
      'Apply a': { 'f:spec': { 'f:maxReplicas': {}, 'f:scaleTargetRef': {} } },
      'Update c': { 'f:spec': { 'f:metrics': {} } },
    })
    expect(entriesOf(put).map(({ apiVersion }) => apiVersion)).toEqual([
      'autoscaling/v1',
      'autoscaling/v2',
    ])
    // The applier moves on to the other version, and lets go there of what it had here.
    const moved = await applied(`${v2}/h`, { ...two, spec }, 'fieldManager=a')
    expect(entriesOf(moved).map(({ apiVersion }) => apiVersion)).toEqual([
      'autoscaling/v2',
      'autoscaling/v2',
    ])
    expect(moved.spec.metrics).toEqual([cpu(70)])
    const wrong = await apply(`${v2}/h`, { ...one, spec }, 'fieldManager=a')
    expect(wrong.body.message).toBe(
      'invalid object type: autoscaling/v1, Kind=HorizontalPodAutoscaler',
    )
  })

  it('may be all that an object has, by what a client wrote of them', async () => {
    const ns = await server().namespace()
    const at = (version: string) =>
      `/apis/autoscaling/${version}/namespaces/${ns}/horizontalpodautoscalers`
    const scaler = {
      kind: 'HorizontalPodAutoscaler',
      metadata: { name: 'h' },
      spec: { scaleTargetRef: { kind: 'Deployment', name: 'd' }, maxReplicas: 5 },
    }
    const made = await server().ok('POST', at('v1'), { body: scaler })
    const owner = {
      manager: 'a',
      operation: 'Apply',
      apiVersion: 'autoscaling/v1',
      fieldsType: 'FieldsV1',
      fieldsV1: { 'f:metadata': {} },
    }
    const metadata = { ...made.metadata, managedFields: [owner] }
    await server().ok('PUT', `${at('v1')}/h`, { body: { ...made, metadata } })
    const body = { ...scaler, apiVersion: 'autoscaling/v2' }
    const kept = await applied(`${at('v2')}/h`, body, 'fieldManager=a&force=true')
    expect(kept.metadata).toMatchObject({ name: 'h', uid: made.metadata.uid })
    expect(kept.spec).toMatchObject(scaler.spec)
  })

  it('of events are kept in the words of either group', async () => {
    const ns = await server().namespace()
    const core = `/api/v1/namespaces/${ns}/events`
    const made = await server().ok('POST', `${core}?fieldManager=a`, {
      body: {
        metadata: { name: 'e' },
        involvedObject: { kind: 'Pod', name: 'p', namespace: ns },
        message: 'm',
        reason: 'r',
        type: 'Normal',
      },
    })
    expect(owners(made)['Update a']).toMatchObject({ 'f:message': {}, 'f:involvedObject': {} })
    const events = `/apis/${server().group('events')}/v1/namespaces/${ns}/events/e`
    const put = await server().ok('PATCH', `${events}?fieldManager=b`, {
      headers: merge,
      body: { metadata: { labels: { l: '1' } } },
    })
    expect(owners(put)).toMatchObject({
      'Update a': { 'f:message': {} },
      'Update b': { 'f:metadata': { 'f:labels': { 'f:l': {} } } },
    })
  })

  it('[UPD-005] each patch type follows its own rules, apply those of ownership', async () => {
    const at = await place('pods')
    const env = [{ name: 'A', value: '1' }]
    const metadata = { name: 'p', labels: { a: '1', b: '1' }, finalizers: ['e/x', 'e/y'] }
    const make = async (): Promise<string> => {
      const body = { metadata, spec: { containers: [{ name: 'c', image: 'i', env }] } }
      await server().ok('POST', `${at}?fieldManager=maker`, { body })
      return `${at}/p`
    }
    const clean = async (): Promise<void> => {
      const body = { metadata: { finalizers: null } }
      await server().ok('PATCH', `${at}/p`, { headers: merge, body })
      await server().ok('DELETE', `${at}/p?gracePeriodSeconds=0`)
    }
    const change = { metadata: { name: 'p', labels: { b: '2' }, finalizers: ['e/z'] } }
    const path = await make()
    const merged = await server().ok('PATCH', path, { headers: merge, body: change })
    expect(merged.metadata.labels).toEqual({ a: '1', b: '2' })
    expect(merged.metadata.finalizers).toEqual(['e/z'])
    await clean()
    await make()
    const strategically = await server().ok('PATCH', path, { headers: strategic, body: change })
    expect(strategically.metadata.finalizers.toSorted()).toEqual(['e/x', 'e/y', 'e/z'])
    await clean()
    await make()
    const json = await server().ok('PATCH', path, {
      headers: { 'content-type': 'application/json-patch+json' },
      body: [{ op: 'remove', path: '/metadata/labels/a' }],
    })
    expect(json.metadata.labels).toEqual({ b: '1' })
    await clean()
    await make()
    const typed = { apiVersion: 'v1', kind: 'Pod', ...change }
    expect((await apply(path, typed, 'fieldManager=one')).status).toBe(409)
    const forced = await applied(path, typed, 'fieldManager=one&force=true')
    expect(forced.metadata.labels).toEqual({ a: '1', b: '2' })
    expect(forced.metadata.finalizers).toEqual(['e/x', 'e/y', 'e/z'])
    const dropped = await applied(
      path,
      { ...typed, metadata: { name: 'p', finalizers: ['e/w'] } },
      'fieldManager=one',
    )
    expect(dropped.metadata.labels).toEqual({ a: '1' })
    expect(dropped.metadata.finalizers).toEqual(['e/x', 'e/y', 'e/w'])
    await clean()
  })

  it('[DRY-003] a dry-run PATCH shows the outcome of a merge and of an apply and keeps nothing; an empty value keeps it', async () => {
    const at = `${await place('configmaps')}/x`
    const config = (value: string) => ({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'x' },
      data: { a: value },
    })
    const kept = await applied(at, config('1'), 'fieldManager=one&dryRun=')
    const shown = await applied(at, config('2'), 'fieldManager=one&dryRun=All')
    expect(shown.data).toEqual({ a: '2' })
    const merged = await server().ok('PATCH', `${at}?dryRun=All`, {
      headers: merge,
      body: { data: { b: '1' } },
    })
    expect(merged.data).toEqual({ a: '1', b: '1' })
    expect(await server().ok('GET', at)).toEqual(kept)
    const stored = await server().ok('PATCH', `${at}?dryRun=`, {
      headers: merge,
      body: { data: { b: '1' } },
    })
    expect(await server().ok('GET', at)).toEqual(stored)
  })
})
