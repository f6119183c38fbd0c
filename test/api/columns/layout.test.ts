import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { printerOf } from '../../../components/api/printers.ts'
import { resourcePath } from '../../../components/machinery/objects/resource.ts'
import { resources } from './rows.ts'

function layoutOf(path: string): string | undefined {
  const resource = resources.all.find((candidate) => resourcePath(candidate) === path)
  if (resource === undefined) return undefined
  return printerOf(resource)
    .columns.map(
      ({ name, type, format, priority }) =>
        `${name}:${type}${format === '' ? '' : `/${format}`}${priority === 0 ? '' : '*'}`,
    )
    .join(', ')
}

/** Columns that have come or moved since release 1.20. */
const changed = new Map([
  [
    '/api/v1/persistentvolumes',
    'Name:string/name, Capacity:string, Access Modes:string, Reclaim Policy:string, Status:string, Claim:string, StorageClass:string, VolumeAttributesClass:string, Reason:string, Age:string, VolumeMode:string*',
  ],
  [
    '/api/v1/persistentvolumeclaims',
    'Name:string/name, Status:string, Volume:string, Capacity:string, Access Modes:string, StorageClass:string, VolumeAttributesClass:string, Age:string, VolumeMode:string*',
  ],
  ['/api/v1/resourcequotas', 'Name:string/name, Request:string, Limit:string, Age:string'],
  [
    '/apis/batch/v1/jobs',
    'Name:string/name, Status:string, Completions:string, Duration:string, Age:string, Containers:string*, Images:string*, Selector:string*',
  ],
  [
    '/apis/certificates.k8s.io/v1/certificatesigningrequests',
    'Name:string/name, Age:string, SignerName:string, Requestor:string, RequestedDuration:string, Condition:string',
  ],
  [
    '/apis/scheduling.k8s.io/v1/priorityclasses',
    'Name:string/name, Value:integer, Global-Default:boolean, Age:string, PreemptionPolicy:string',
  ],
  [
    '/apis/storage.k8s.io/v1/csidrivers',
    'Name:string/name, AttachRequired:boolean, PodInfoOnMount:boolean, StorageCapacity:boolean, TokenRequests:string, RequiresRepublish:boolean, Modes:string, Age:string',
  ],
])

describe('table columns', () => {
  it('are those of release 1.20, but for the few that have changed', () => {
    const lines = readFileSync('test/cases/columns/release-1.20.txt', 'utf8')
      .split('\n')
      .filter((line) => line.startsWith('/'))
    let compared = 0
    for (const line of lines) {
      const [path = '', recorded] = line.split(' | ')
      const layout = layoutOf(path)
      if (layout === undefined) continue
      expect(layout, path).toBe(changed.get(path) ?? recorded)
      compared++
    }
    expect(compared).toBeGreaterThan(40)
  })

  it.each([
    [
      '/apis/batch/v1/cronjobs',
      'Name:string/name, Schedule:string, Timezone:string, Suspend:boolean, Active:integer, Last Schedule:string, Age:string, Containers:string*, Images:string*, Selector:string*',
    ],
    [
      '/apis/policy/v1/poddisruptionbudgets',
      'Name:string/name, Min Available:string, Max Unavailable:string, Allowed Disruptions:integer, Age:string',
    ],
    [
      '/apis/discovery.k8s.io/v1/endpointslices',
      'Name:string/name, AddressType:string, Ports:string, Endpoints:string, Age:string',
    ],
    [
      '/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations',
      'Name:string/name, Type:string, NominalConcurrencyShares:string, Queues:string, HandSize:string, QueueLengthLimit:string, Age:string',
    ],
    [
      '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies',
      'Name:string/name, Validations:integer, ParamKind:string, Age:string',
    ],
    [
      '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings',
      'Name:string/name, PolicyName:string, ParamRef:string, Age:string',
    ],
    [
      '/apis/storage.k8s.io/v1/csistoragecapacities',
      'Name:string/name, StorageClassName:string, Capacity:string',
    ],
    [
      '/apis/autoscaling/v2/horizontalpodautoscalers',
      'Name:string/name, Reference:string, Targets:string, MinPods:string, MaxPods:string, Replicas:string, Age:string',
    ],
  ])('of %s, newer than that release', (path, layout) => {
    expect(layoutOf(path)).toBe(layout)
  })

  it('every printer copes with an object that has nothing but its metadata', () => {
    for (const resource of resources.all) {
      const printer = printerOf(resource)
      const cells = printer.cells({ metadata: {} }, 0)
      expect(cells, resource.plural).toHaveLength(printer.columns.length)
      for (const cell of cells)
        expect(['string', 'number', 'boolean', 'object']).toContain(typeof cell)
      for (const { description } of printer.columns) expect(description).not.toBe('')
    }
  })
})
