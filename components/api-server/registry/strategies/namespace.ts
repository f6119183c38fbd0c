/** Namespace: its finalizer, phase and name label; terminating ones go when `spec.finalizers` is empty (upstream: registry/core/namespace). */
import { labelKey } from '../../../api/dialect.ts'
import type { Namespace } from '../../../api/generated/types.ts'
import type { KubeObject } from '../../../machinery/object.ts'
import type { Strategy } from '../strategy.ts'

function specOf(object: KubeObject): { finalizers?: string[] } {
  return (object['spec'] ?? {}) as { finalizers?: string[] }
}

export const namespaceStrategy: Strategy = {
  nameForm: 'label',
  applyDefaults(object, { dialect }) {
    const { metadata } = object
    const namespaceNameKey = labelKey(dialect, '', 'metadata.name')
    if (metadata.name) metadata.labels = { ...metadata.labels, [namespaceNameKey]: metadata.name }
  },
  prepareForCreate(object, { dialect }) {
    const finalizers = specOf(object).finalizers ?? []
    const own = dialect.namespaceFinalizer
    object['spec'] = { finalizers: finalizers.includes(own) ? finalizers : [...finalizers, own] }
    object['status'] = { phase: 'Active' }
  },
  prepareForUpdate(object, old) {
    object['spec'] = structuredClone(specOf(old))
  },
  subresources: {
    status: {
      prepareForUpdate(object, old) {
        object['spec'] = structuredClone(specOf(old))
      },
    },
    finalize: {
      prepareForUpdate(object, old) {
        object['status'] = structuredClone((old as unknown as Namespace).status ?? {})
      },
    },
  },
  prepareForDelete(object) {
    object['status'] = { ...(object['status'] as object | undefined), phase: 'Terminating' }
  },
  holdsDeletion: (object) => (specOf(object).finalizers ?? []).length > 0,
}
