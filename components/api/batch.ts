/** The batch group. */
import { groupTable, since, status } from './group-table.ts'

export const batch = groupTable({
  stem: 'batch',
  package: 'batch',
  priority: 17_400,
  versions: { v1: 15 },
  kinds: {
    cronJobs: {
      kind: 'CronJob',
      shortNames: ['cj'],
      categories: ['all'],
      subresources: [status],
      lifecycle: since('1.21'),
    },
    jobs: {
      kind: 'Job',
      categories: ['all'],
      subresources: [status],
      selectableFields: ['status.successful'],
      lifecycle: since('1.2'),
    },
  },
})
