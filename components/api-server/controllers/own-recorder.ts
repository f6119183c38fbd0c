/** own-recorder: records Events by the server's own writes. */
import type { Resources } from '../../api/resources.ts'
import { createEventRecorder, type EventRecorder } from '../../client/event-recorder.ts'
import type { Clock } from '../../component-base/clock.ts'
import type { Log } from '../../component-base/log.ts'
import { apiVersionOf } from '../../machinery/objects/resource.ts'
import { isStatusError, notFound } from '../../machinery/objects/status-error.ts'
import type { LocalClient } from '../registry/local-client.ts'

export interface OwnRecorderOptions {
  readonly client: LocalClient
  readonly resources: Resources
  readonly clock: Clock
  readonly log: Log
  /** All servers record the same event, one for each object: the first one to write it does so for all. */
  readonly isOfAll?: boolean
}

/** As long as upstream's, which end in a time. */
function nameByUid({ name = 'unknown', uid = '' }: Readonly<Record<string, string>>): string {
  return `${name}.${uid.replaceAll('-', '').slice(0, 16)}`
}

/** `component` is who reports. The caller runs the recorder. */
export function createOwnRecorder(options: OwnRecorderOptions, component: string): EventRecorder {
  const { client, resources, clock, log, isOfAll = false } = options
  const { events } = resources
  const type = { apiVersion: apiVersionOf(events), kind: events.kind }
  return createEventRecorder({
    events: {
      create: async (event) => {
        try {
          await client.create(events, event.metadata.namespace ?? '', { ...type, ...event })
        } catch (error) {
          if (!isOfAll || !isStatusError(error, 'AlreadyExists')) throw error
        }
      },
      patch: async ({ namespace = '', name }, changed) => {
        const event = client.get(events, namespace, name)
        if (event === undefined) throw notFound(events, name)
        await client.update(events, namespace, { ...event, ...changed })
      },
    },
    component,
    ...(isOfAll ? { nameOf: nameByUid } : {}),
    clock,
    log,
  })
}
