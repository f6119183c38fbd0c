/** What one object uses of quotas, by kind and dialect. */
import { describe, expect, test } from 'vitest'
import { dialects, type Dialect } from '../../components/api/dialect.ts'
import { createQuotaEvaluators } from '../../components/api/quota/quota-evaluators.ts'
import { countedKind } from '../../components/api/quota/quota-usage.ts'
import type { KubeObject } from '../../components/machinery/objects/object.ts'

const nowMs = Date.parse('2025-01-01T00:00:00Z')
const usage = (
  kind: { group: string; plural: string },
  object: object,
  dialect: Dialect = dialects.kubernetes,
) =>
  createQuotaEvaluators(dialect)
    .of(kind)
    ?.usage(object as KubeObject, nowMs)
const core = (plural: string) => ({ group: '', plural })

describe('a pod uses', () => {
  const requests = { cpu: '1', 'hugepages-2Mi': '4Mi', 'example.com/gpu': '2' }
  const spec = { containers: [{ name: 'c', resources: { requests, limits: { cpu: '2' } } }] }
  const finished = { 'count/pods': '1' }
  const whole = {
    'count/pods': '1',
    pods: '1',
    cpu: '1',
    'requests.cpu': '1',
    'limits.cpu': '2',
    'hugepages-2Mi': '4Mi',
    'requests.hugepages-2Mi': '4Mi',
    'requests.example.com/gpu': '2',
  }
  const deleted = (deletionTimestamp: string) => ({
    metadata: { deletionTimestamp, deletionGracePeriodSeconds: 30 },
  })
  test.each<[string, object, object]>([
    ['its resources', {}, whole],
    ['nothing but its number once it has succeeded', { status: { phase: 'Succeeded' } }, finished],
    ['nothing but its number once it has failed', { status: { phase: 'Failed' } }, finished],
    ['its resources while it ends', deleted('2024-12-31T23:59:30Z'), whole],
    ['nothing but its number when it should be gone', deleted('2024-12-31T23:59:29Z'), finished],
  ])('%s', (_what, more, expected) => {
    expect(usage(core('pods'), { metadata: {}, spec, ...more })).toEqual(expected)
  })
})

describe('names', () => {
  test('of classes have the domain of the dialect', () => {
    const claim = { metadata: {}, spec: { storageClassName: 'gold' } }
    expect(usage(core('persistentvolumeclaims'), claim, dialects.svc)).toHaveProperty(
      ['gold.storageclass.storage.svc.io/persistentvolumeclaims'],
      '1',
    )
    const requests = [{ deviceClassName: 'gpu', allocationMode: 'ExactCount', count: 3 }]
    const devices = { metadata: {}, spec: { devices: { requests } } }
    const kind = { group: 'resource.svc.io', plural: 'resourceclaims' }
    expect(usage(kind, devices, dialects.svc)).toEqual({
      'count/resourceclaims.resource.svc.io': '1',
      'gpu.deviceclass.resource.svc.io/devices': '3',
    })
  })

  test('of counts give the kind', () => {
    expect(countedKind('count/pods')).toEqual(core('pods'))
    expect(countedKind('count/a.b.c')).toEqual({ group: 'b.c', plural: 'a' })
    expect(countedKind('pods')).toBeUndefined()
    expect(usage({ group: 'b.c', plural: 'a' }, { metadata: {} })).toEqual({ 'count/a.b.c': '1' })
  })

  test('of what is only asked and never kept are not counted', () => {
    for (const kind of [
      core('events'),
      core('bindings'),
      { group: 'events.k8s.io', plural: 'events' },
      { group: 'authorization.k8s.io', plural: 'localsubjectaccessreviews' },
    ]) {
      expect(usage(kind, { metadata: {} })).toBeUndefined()
    }
  })
})
