/** The coordination group. */
import { groupTable, since } from './group-table.ts'

export const coordination = groupTable({
  stem: 'coordination',
  package: 'coordination',
  priority: 16_500,
  versions: { v1: 15, v1alpha2: 9 },
  kinds: {
    leaseCandidates: {
      kind: 'LeaseCandidate',
      version: 'v1alpha2',
      createOnUpdate: true,
      lifecycle: { introduced: '1.32', deprecated: '1.35', removed: '1.38' },
    },
    leases: { kind: 'Lease', createOnUpdate: true, lifecycle: since('1.14') },
  },
})
