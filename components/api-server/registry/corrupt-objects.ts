/** corrupt-objects: errors for objects that cannot be read (upstream: storage/errors.go, etcd3/corrupt_obj_deleter.go). */
import { qualifiedName, type Resource } from '../../machinery/objects/resource.ts'
import {
  internalError,
  StatusError,
  type StatusCause,
} from '../../machinery/objects/status-error.ts'
import type { Unreadable } from '../watch-cache/unreadable.ts'

/** A list names this many keys at most. */
const mostCauses = 100

const faults: Readonly<Record<Unreadable['fault'], string>> = {
  untransformable: 'data from the storage is not transformable',
  undecodable: 'object not decodable',
}

function corruptText({ storeKey, fault, why }: Unreadable): string {
  return `StorageError: corrupt object, Code: 7, Key: ${storeKey}, ResourceVersion: 0, AdditionalErrorMsg: ${faults[fault]} revision=0: ${why}`
}

/** The 500 of a request for one object. `withKeys`: the gate AllowUnsafeMalformedObjectDeletion is on, so the key is named. */
export function corruptObject(unreadable: Unreadable, withKeys: boolean): StatusError {
  return internalError(withKeys ? corruptText(unreadable) : unreadable.why)
}

/** The 500 of a list or a deletion of a collection; `unreadables` is not empty. */
export function corruptList(
  resource: Resource,
  unreadables: readonly Unreadable[],
  withKeys: boolean,
): StatusError {
  const [first] = unreadables
  if (first === undefined) throw new Error('a list without unreadable objects is no error')
  if (!withKeys) return internalError(`unable to transform key "${first.storeKey}": ${first.why}`)
  const causes: StatusCause[] = unreadables.slice(0, mostCauses).map((unreadable) => ({
    reason: 'UnexpectedServerResponse',
    message: corruptText(unreadable),
    field: unreadable.storeKey,
  }))
  if (unreadables.length > mostCauses) {
    causes.push({
      reason: 'FieldValueTooMany',
      message: 'too many errors, the list is truncated',
    })
  }
  return new StatusError(
    'StorageReadError',
    `failed to read one or more ${qualifiedName(resource)} from the storage`,
    {
      details: {
        name: 'list',
        ...(resource.group === '' ? {} : { group: resource.group }),
        kind: resource.plural,
        causes,
      },
    },
  )
}

/** The answer to a watch of a resource with an object that cannot be read: the watch would miss its events. */
export function notReady(): StatusError {
  return new StatusError('TooManyRequests', 'storage is (re)initializing', {
    details: { retryAfterSeconds: 1 },
  })
}
