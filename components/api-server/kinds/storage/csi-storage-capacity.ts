/** CSIStorageCapacity (upstream: pkg/apis/storage/validation, pkg/registry/storage/csistoragecapacity). */
import type { CSIStorageCapacity } from '../../../api/generated/types.ts'
import type { FieldPath } from '../../../machinery/validation/field-path.ts'
import { validateLabelSelector } from '../../../machinery/validation/label-validation.ts'
import type { KubeObject } from '../../../machinery/objects/object.ts'
import { validation, type Change } from '../rules/strategy-checks.ts'
import type { Strategy } from '../strategy.ts'
import { validateSubdomain, mustNotBeNegative, validateImmutable } from '../rules/field-rules.ts'
import { shownQuantity, isNegativeQuantity } from '../rules/quantities.ts'
import { goLabelSelector } from '../rules/replica-rules.ts'

function validateCapacity(object: KubeObject, root: FieldPath): void {
  const { nodeTopology, storageClassName, capacity } = object as CSIStorageCapacity
  validateLabelSelector(nodeTopology, root.child('nodeTopology'))
  validateSubdomain(storageClassName ?? '', root.child('storageClassName'))
  if (capacity !== undefined && isNegativeQuantity(capacity)) {
    root.child('capacity').invalid(shownQuantity(capacity), mustNotBeNegative)
  }
}

export const csiStorageCapacityStrategy: Strategy = {
  allowUnconditionalUpdate: false,
  ...validation(validateCapacity, ({ object, old }: Change<KubeObject>, root) => {
    const [now, before] = [object as CSIStorageCapacity, old as CSIStorageCapacity]
    const shown = goLabelSelector(now.nodeTopology)
    validateImmutable(
      { now: now.nodeTopology, before: before.nodeTopology, shown },
      root.child('nodeTopology'),
    )
    validateImmutable(
      { now: now.storageClassName, before: before.storageClassName },
      root.child('storageClassName'),
    )
  }),
}
