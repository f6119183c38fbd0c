/** StorageClass (upstream: pkg/apis/storage/validation, pkg/registry/storage/storageclass). */
import type { TopologySelectorTerm, StorageClass } from '../../../api/generated/types.ts'
import type { FieldPath } from '../../../machinery/validation/field-path.ts'
import { validateLabelName } from '../../../machinery/validation/label-validation.ts'
import type { KubeObject } from '../../../machinery/objects/object.ts'
import { validation, type Change } from '../rules/strategy-checks.ts'
import type { Strategy } from '../strategy.ts'
import { semanticEqual, validateOneOf, validateImmutable } from '../rules/field-rules.ts'
import { validateProvisioner, validateParameters, validateFixed } from './class-rules.ts'

const reclaimPolicies = ['Delete', 'Retain']

const bindingModes = ['Immediate', 'WaitForFirstConsumer']

/** Each term's keys with their values; equal terms are duplicates, and so is one without any key. */
function validateTopologies(terms: readonly TopologySelectorTerm[], at: FieldPath): void {
  const seen: Record<string, string[]>[] = [{}]
  for (const [i, term] of terms.entries()) {
    const keys: Record<string, string[]> = {}
    const expressionsAt = at.index(i).child('matchLabelExpressions')
    for (const [j, { key, values }] of (term.matchLabelExpressions ?? []).entries()) {
      const expressionAt = expressionsAt.index(j)
      const list = values ?? []
      if (list.length === 0) expressionAt.child('values').required()
      for (const [k, value] of list.entries()) {
        if (list.indexOf(value) < k) expressionAt.child('values').index(k).duplicate(value)
      }
      validateLabelName(key, expressionAt.child('key'))
      if (Object.hasOwn(keys, key)) expressionAt.child('key').duplicate(key)
      keys[key] = list.toSorted()
    }
    if (seen.some((other) => semanticEqual(other, keys))) expressionsAt.duplicate('')
    seen.push(keys)
  }
}

function validateClass(object: KubeObject, root: FieldPath): void {
  const storageClass = object as StorageClass
  validateProvisioner(storageClass.provisioner, root.child('provisioner'))
  validateParameters(storageClass.parameters ?? {}, root.child('parameters'), false)
  const { reclaimPolicy, volumeBindingMode, allowedTopologies } = storageClass
  validateOneOf(reclaimPolicy || undefined, reclaimPolicies, root.child('reclaimPolicy'))
  validateOneOf(volumeBindingMode, bindingModes, root.child('volumeBindingMode'))
  validateTopologies(allowedTopologies ?? [], root.child('allowedTopologies'))
}

export const storageClassStrategy: Strategy = {
  applyDefaults(object) {
    const storageClass = object as StorageClass
    storageClass.reclaimPolicy ??= 'Delete'
    storageClass.volumeBindingMode ??= 'Immediate'
  },
  ...validation(validateClass, (change: Change<KubeObject>, root) => {
    validateFixed(change, ['parameters', 'provisioner', 'reclaimPolicy'], root)
    const { object, old } = change
    const [now, before] = [object, old].map((state) => (state as StorageClass).volumeBindingMode)
    validateImmutable({ now, before }, root.child('volumeBindingMode'))
  }),
}
