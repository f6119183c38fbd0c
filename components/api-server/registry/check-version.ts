/** check-version: whether an update is of the object and of the version that is there (upstream: store.go Update). */
import { uint64Fault } from '../../machinery/values/int64.ts'
import type { KubeObject } from '../../machinery/objects/object.ts'
import type { Resource } from '../../machinery/objects/resource.ts'
import {
  conflict,
  invalid,
  objectModified,
  StatusError,
} from '../../machinery/objects/status-error.ts'
import type { Entry } from '../watch-cache/entry.ts'
import type { Strategy } from '../kinds/strategy.ts'

/**
 * Throws Conflict for another object or version. An update that names no version is one of the newest, where the kind allows
 * that.
 */
export function checkVersion(
  object: KubeObject,
  current: Entry,
  of: { resource: Resource; strategy: Pick<Strategy, 'allowUnconditionalUpdate'> },
): void {
  const { resource, strategy } = of
  const { metadata } = object
  const name = metadata.name ?? ''
  const uid = current.object().metadata.uid
  if (metadata.uid !== undefined && metadata.uid !== '' && metadata.uid !== uid) {
    throw conflict(
      resource,
      name,
      `StorageError: invalid object, Code: 4, Key: /registry/${resource.plural}/${current.key}, ResourceVersion: 0, ` +
        `AdditionalErrorMsg: Precondition failed: UID in precondition: ${metadata.uid}, UID in object meta: ${uid ?? ''}`,
    )
  }
  const version = metadata.resourceVersion ?? ''
  if (version === String(current.revision)) return
  const fault = version === '' ? undefined : uint64Fault(version)
  // Upstream does not make a Status of this error of Go's.
  if (fault !== undefined) throw new StatusError('', fault)
  if (version !== '' && !/^0+$/.test(version)) throw conflict(resource, name, objectModified)
  if (strategy.allowUnconditionalUpdate === false) {
    throw invalid(resource, name, [
      {
        field: 'metadata.resourceVersion',
        type: 'FieldValueInvalid',
        message: 'Invalid value: 0x0: must be specified for an update',
      },
    ])
  }
  metadata.resourceVersion = String(current.revision)
}
