/** The events group: the same stored objects as the core group's events, in their newer form. */
import { groupTable, since } from './group-table.ts'

export const events = groupTable({
  stem: 'events',
  package: 'events',
  priority: 17_750,
  versions: { v1: 15 },
  kinds: {
    eventsV1: {
      kind: 'Event',
      plural: 'events',
      shortNames: ['ev'],
      createOnUpdate: true,
      storedAs: 'core/v1',
      selectableFields: [
        'regarding.kind',
        'regarding.namespace',
        'regarding.name',
        'regarding.uid',
        'regarding.apiVersion',
        'regarding.resourceVersion',
        'regarding.fieldPath',
        'reason',
        'reportingController',
        'type',
      ],
      lifecycle: since('1.19'),
    },
  },
})
