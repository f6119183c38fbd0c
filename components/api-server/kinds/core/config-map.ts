/** ConfigMap (upstream: core/validation ValidateConfigMap). */
import type { ConfigMap } from '../../../api/generated/types.ts'
import { FieldPath } from '../../../machinery/validation/field-path.ts'
import { configKey } from '../../../machinery/validation/names.ts'
import { getOwn } from '../../../machinery/values/json-copy.ts'
import type { Strategy } from '../strategy.ts'
import { semanticEqual } from '../rules/field-rules.ts'
import { decodedLength, immutableWhenSet, mostDataBytes } from './secret.ts'
import { validation, type Change } from '../rules/strategy-checks.ts'

function validateConfigMap({ data, binaryData }: ConfigMap, root: FieldPath): void {
  let bytes = 0
  for (const key in data) {
    const faults = configKey(key)
    const isRepeated = getOwn(binaryData, key) !== undefined
    if (faults.length > 0 || isRepeated) {
      const at = root.child('data').key(key)
      at.invalidEach(key, faults)
      if (isRepeated) at.invalid(key, 'duplicate of key present in binaryData')
    }
    bytes += Buffer.byteLength(data[key] ?? '')
  }
  for (const key in binaryData) {
    const faults = configKey(key)
    const isRepeated = getOwn(data, key) !== undefined
    if (faults.length > 0 || isRepeated) {
      const at = root.child('binaryData').key(key)
      at.invalidEach(key, faults)
      if (isRepeated) at.invalid(key, 'duplicate of key present in data')
    }
    bytes += decodedLength(binaryData[key] ?? '')
  }
  // Upstream's path without a name prints like this.
  if (bytes > mostDataBytes) root.child('[]').tooLong(mostDataBytes)
}

function validateChange({ object, old }: Change<ConfigMap>, root: FieldPath): void {
  if (old.immutable !== true) return
  if (object.immutable !== true) root.child('immutable').forbidden(immutableWhenSet)
  for (const field of ['data', 'binaryData'] as const) {
    if (!semanticEqual(object[field], old[field])) root.child(field).forbidden(immutableWhenSet)
  }
}

export const configMapStrategy: Strategy = {
  ...validation<ConfigMap>(validateConfigMap, validateChange),
}
