/**
 * report-unattended: records an Event about each new object that no controller acts on, so that `kubectl describe` explains
 * why nothing happens.
 */
import type { Resources } from '../../api/resources.ts'
import { unattendedKinds } from '../../api/unattended-kinds.ts'
import { createEventRecorder } from '../../client/event-recorder.ts'
import type { Clock } from '../../component-base/clock.ts'
import type { Log } from '../../component-base/log.ts'
import { apiVersionOf, type Resource } from '../../machinery/objects/resource.ts'
import { notFound } from '../../machinery/objects/status-error.ts'
import type { LocalClient } from '../registry/local-client.ts'
import type { ObjectReader } from '../watch-cache/object-reader.ts'

export interface UnattendedOptions {
  readonly reader: ObjectReader
  readonly client: LocalClient
  readonly resources: Resources
  readonly clock: Clock
  readonly log: Log
}

/** The listed kinds, each once. */
function unattended(resources: Resources): Map<Resource, string> {
  const found = new Map<string, Resource>()
  for (const resource of resources.all) found.set(resource.storagePrefix, resource)
  return new Map(
    [...unattendedKinds].flatMap(([prefix, why]) => {
      const resource = found.get(prefix)
      return resource === undefined ? [] : [[resource, why] as const]
    }),
  )
}

/** Runs until `signal` aborts. Objects from before the start get no Event. */
export async function reportUnattended(
  options: UnattendedOptions,
  signal: AbortSignal,
): Promise<void> {
  const { reader, client, resources, clock, log } = options
  const { events } = resources
  const type = { apiVersion: apiVersionOf(events), kind: events.kind }
  const recorder = createEventRecorder({
    events: {
      create: (event) =>
        client.create(events, event.metadata.namespace ?? '', { ...type, ...event }),
      patch: async ({ namespace = '', name }, changed) => {
        const event = client.get(events, namespace, name)
        if (event === undefined) throw notFound(events, name)
        await client.update(events, namespace, { ...event, ...changed })
      },
    },
    component: 'kube-apiserver',
    clock,
    log,
  })
  const stops = [...unattended(resources)].map(([resource, message]) =>
    reader.onChange(resource, ({ type, object }) => {
      if (type === 'ADDED')
        recorder.record(object(), { type: 'Warning', reason: 'NoController', message })
    }),
  )
  try {
    await recorder.run(signal)
  } finally {
    for (const stop of stops) stop()
  }
}
