/** Namespace (upstream: pkg/registry/core/namespace, core/validation). */
import { labelKey } from '../../../api/dialect.ts'
import type { Namespace } from '../../../api/generated/types.ts'
import type { FieldPath } from '../../../machinery/validation/field-path.ts'
import type { KubeObject } from '../../../machinery/objects/object.ts'
import { validateFinalizerName } from '../../../machinery/validation/object-meta-validation.ts'
import type { Strategy, StrategyContext } from '../strategy.ts'
import { restoreAllButStatus } from '../rules/status-update.ts'
import { updateValidation, validation } from '../rules/strategy-checks.ts'

function validateFinalizers(
  { spec }: Namespace,
  root: FieldPath,
  { dialect }: StrategyContext,
): void {
  const at = root.child('spec').child('finalizers')
  for (const name of spec?.finalizers ?? []) {
    validateFinalizerName(name, at, [dialect.namespaceFinalizer])
  }
}

function restore(object: KubeObject, old: KubeObject, field: 'spec' | 'status'): void {
  if (old[field] === undefined) delete object[field]
  else object[field] = old[field]
}

export const namespaceStrategy: Strategy = {
  nameForm: 'label',
  applyDefaults({ metadata }, { dialect }) {
    if (!metadata.name) return
    const key = labelKey(dialect, '', 'metadata.name')
    metadata.labels = { ...metadata.labels, [key]: metadata.name }
  },
  prepareForCreate(object, { dialect }) {
    const namespace = object as Namespace
    namespace.status = { phase: 'Active' }
    const finalizers = namespace.spec?.finalizers ?? []
    if (!finalizers.includes(dialect.namespaceFinalizer)) {
      namespace.spec = {
        ...namespace.spec,
        finalizers: [...finalizers, dialect.namespaceFinalizer],
      }
    }
  },
  prepareForUpdate(object, old) {
    restore(object, old, 'spec')
    restore(object, old, 'status')
  },
  ...validation<Namespace>(validateFinalizers),
  prepareForDelete(object) {
    const namespace = object as Namespace
    namespace.status = { ...namespace.status, phase: 'Terminating' }
  },
  holdsDeletion: (object) => ((object as Namespace).spec?.finalizers?.length ?? 0) > 0,
  subresources: {
    status: {
      prepareForUpdate: restoreAllButStatus,
      validateUpdate: updateValidation<Namespace>(({ object }, root) => {
        const phase = object.status?.phase ?? ''
        const [wanted, is] = object.metadata.deletionTimestamp
          ? ['Terminating', 'is not empty']
          : ['Active', 'is empty']
        if (phase === wanted) return
        root
          .child('status')
          .child('Phase')
          .invalid(phase, `may only be '${wanted}' if \`deletionTimestamp\` ${is}`)
      }),
    },
    finalize: {
      prepareForUpdate: (object, old) => restore(object, old, 'status'),
      validateUpdate: updateValidation<Namespace>(({ object }, root, context) => {
        validateFinalizers(object, root, context)
      }),
    },
  },
}
