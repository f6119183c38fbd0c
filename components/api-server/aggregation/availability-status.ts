/** availability-status: writes whether an extension API server answers into the status of its APIService. */
import type { APIService } from '../../api/generated/types.ts'
import type { Resource } from '../../machinery/objects/resource.ts'
import { timestamp, type Clock } from '../../component-base/clock.ts'
import type { Log } from '../../component-base/log.ts'
import { deepEqual } from '../../machinery/objects/object.ts'
import { isStatusError } from '../../machinery/objects/status-error.ts'
import type { LocalClient } from '../registry/local-client.ts'
import type { ObjectReader } from '../watch-cache/object-reader.ts'
import type { Availability } from './availability.ts'

/** The status with this condition. Its transition time changes with its status only. */
function withAvailability(
  { status }: APIService,
  availability: Availability,
  nowMs: number,
): APIService['status'] {
  const conditions = status?.conditions ?? []
  const held = conditions.find(({ type }) => type === 'Available')
  const isSame = held?.status === availability.status
  const lastTransitionTime = (isSame ? held?.lastTransitionTime : undefined) ?? timestamp(nowMs)
  const condition = { ...held, type: 'Available', ...availability, lastTransitionTime }
  const at = conditions.findIndex(({ type }) => type === 'Available')
  return {
    ...status,
    conditions: conditions.toSpliced(at < 0 ? conditions.length : at, at < 0 ? 0 : 1, condition),
  }
}

/** A no-op writes nothing. Rejects with a StatusError, except for a lost race. */
export async function writeAvailability(
  name: string,
  availability: Availability,
  to: {
    readonly reader: ObjectReader
    readonly client: LocalClient
    readonly apiServices: Resource
    readonly clock: Clock
    readonly log: Log
  },
): Promise<void> {
  const { reader, client, apiServices, clock, log } = to
  const object = reader.get(apiServices, '', name) as APIService | undefined
  if (object === undefined) return
  const status = withAvailability(object, availability, clock.now())
  if (deepEqual(status, object.status)) return
  log.info('aggregated API', { apiService: name, ...availability })
  try {
    await client.updateStatus(apiServices, '', { ...object, status })
  } catch (error) {
    // Another write was first, or the APIService is gone: the event of that write adds it again.
    if (!isStatusError(error, 'Conflict', 'NotFound')) throw error
  }
}
