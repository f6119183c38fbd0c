import { describe, expect, it } from 'vitest'
import type { KubeObject } from '../../../components/machinery/objects/object.ts'
import { startApiServer } from '../../support/api-server.ts'
import { strategyRuns } from '../../support/strategy-runs.ts'

const runs = strategyRuns('storageVersionMigrations')
const resource = { group: 'apps', version: 'v1', resource: 'deployments' }
const old = runs.created({ spec: { resource } })

it('names a resource in a version, which stay', () => {
  expect(runs.createFaults({ spec: { resource: { group: 'apps' } } })).toEqual([
    'spec.resource.resource: Required value: resource is required',
    'spec.resource.version: Required value: version is required',
  ])
  const changed = { spec: { resource: { ...resource, version: 'v2' } } }
  expect(runs.updateFaults(old, changed)).toEqual([
    'version: Invalid value: "v2": field is immutable',
  ])
})

describe('its status', () => {
  const isTrue = (type: string) => ({
    type,
    status: 'True',
    lastUpdateTime: '2026-01-01T00:00:00Z',
    reason: 'R',
  })
  const faults = (status: object, before: KubeObject = old) =>
    runs.updateFaults(before, { ...before, status }, 'status').join('\n')

  it.each<[object, string]>([
    [{ conditions: [isTrue('Running')], resourceVersion: '7' }, ''],
    [{ resourceVersion: 'x' }, 'status.resourceVersion: Invalid value: "x": failed to parse'],
    [{ resourceVersion: '-1' }, 'must be greater than or equal to 0'],
    [
      { conditions: [isTrue('Succeeded'), isTrue('Failed')] },
      'Both success and failed conditions cannot be true at the same time',
    ],
    [
      { conditions: [isTrue('Succeeded'), isTrue('Running')] },
      'Running condition cannot be true when success condition is true',
    ],
    [{ conditions: [isTrue('Running'), isTrue('Running')] }, 'Duplicate value: "Running"'],
    [
      { conditions: [{ ...isTrue('Running'), reason: '' }] },
      'status.conditions[0].reason: Required value',
    ],
  ])('%j', (status, fault) => {
    if (fault === '') expect(faults(status)).toBe('')
    else expect(faults(status)).toContain(fault)
  })

  it('keeps its version and its end', () => {
    const noted: KubeObject = { ...old, status: { resourceVersion: '7' } }
    expect(faults({ resourceVersion: '8' }, noted)).toContain('cannot be updated')
    const ended: KubeObject = { ...old, status: { conditions: [isTrue('Failed')] } }
    expect(faults({}, ended)).toContain('Failed condition cannot be set to false once it is true')
  })
})

it('an apply without fields changes no object that is stored as it should be, and owns nothing', async () => {
  await using server = await startApiServer({})
  await server.namespace('shop')
  const at = '/api/v1/namespaces/shop/configmaps'
  const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'c' }, data: { a: 'b' } }
  const { metadata } = await server.ok('POST', at, { body })
  const apply = (uid: string | undefined) =>
    server.request('PATCH', `${at}/c?fieldManager=storage-version-migrator-controller`, {
      headers: { 'content-type': 'application/apply-patch+yaml' },
      body: {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { uid, resourceVersion: metadata.resourceVersion },
      },
    })
  const applied = await apply(metadata.uid)
  expect(applied.status).toBe(200)
  expect(applied.body.metadata).toEqual(metadata)
  expect((await apply('00000000-0000-4000-8000-000000000000')).status).toBe(409)
})
