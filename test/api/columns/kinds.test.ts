import { describe, expect, it } from 'vitest'
import { printerOf } from '../../../components/api/printers.ts'
import { coreRows } from './core-rows.ts'
import { otherRows } from './other-rows.ts'
import { now, resources, rowOf } from './rows.ts'
import { workloadRows } from './workload-rows.ts'

/** Every kind that has a printer of its own, but for pods. */
const cases = [...coreRows, ...workloadRows, ...otherRows]

describe('rows of', () => {
  it.each(cases)('%s: %j', (key, object, expected) => {
    expect(rowOf(key, object)).toMatchObject(expected)
  })

  it('every kind with a printer of its own are tested here', () => {
    const tested = new Set<string>(cases.map(([key]) => resources[key].plural).concat('pods'))
    const defaultColumns = printerOf(resources.limitRanges).columns
    for (const resource of resources.all) {
      if (printerOf(resource).columns === defaultColumns) continue
      expect(tested, resource.plural).toContain(resource.plural)
    }
  })

  it('nodes name the roles that labels of either dialect give them', () => {
    const labels = { 'node-role.svc.io/edge': '', 'node-role.kubernetes.io/worker': '' }
    expect(rowOf('nodes', { metadata: { labels } })['Roles']).toBe('edge,worker')
  })

  it('a scale, whatever it scales', () => {
    const printer = printerOf(resources.deployments, 'scale')
    const scale = { metadata: { name: 'd' }, spec: { replicas: 3 }, status: { replicas: 1 } }
    expect(printer.cells(scale, now)).toEqual(['d', 3, 1, '<unknown>'])
  })
})
