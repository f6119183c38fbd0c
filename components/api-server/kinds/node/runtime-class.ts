/** RuntimeClass (upstream: pkg/apis/node). */
import type { RuntimeClass } from '../../../api/generated/types.ts'
import type { FieldPath } from '../../../machinery/validation/field-path.ts'
import { validateLabels } from '../../../machinery/validation/label-validation.ts'
import type { KubeObject } from '../../../machinery/objects/object.ts'
import { validation, type Change } from '../rules/strategy-checks.ts'
import type { Strategy, StrategyContext } from '../strategy.ts'
import {
  goJson,
  semanticEqual,
  validateImmutable,
  validateLabel1123,
} from '../rules/field-rules.ts'
import { validateTolerations } from '../core/pod/affinity-validation.ts'
import { roundUpAmounts } from '../rules/quantities.ts'
import { validateResourceRequirements } from '../rules/resource-list.ts'

function validate(object: KubeObject, root: FieldPath, { dialect }: StrategyContext): void {
  const { handler = '', overhead, scheduling } = object as RuntimeClass
  validateLabel1123(handler, root.child('handler'))
  if (overhead?.podFixed) {
    const at = root.child('overhead').child('podFixed')
    validateResourceRequirements({ limits: overhead.podFixed }, at, dialect)
  }
  if (scheduling) {
    const at = root.child('scheduling')
    validateLabels(scheduling.nodeSelector, at.child('nodeSelector'))
    const tolerations = scheduling.tolerations ?? []
    // Upstream names the field twice.
    validateTolerations(tolerations, at.child('tolerations').child('tolerations'))
    for (const [i, toleration] of tolerations.entries()) {
      if (tolerations.slice(0, i).some((other) => semanticEqual(other, toleration))) {
        at.child('tolerations').index(i).duplicate(goJson(toleration))
      }
    }
  }
}

export const runtimeClassStrategy: Strategy = {
  allowUnconditionalUpdate: false,
  applyDefaults: (object) => roundUpAmounts((object as RuntimeClass).overhead?.podFixed),
  ...validation(validate, ({ object, old }: Change<KubeObject>, root) => {
    const at = root.child('handler')
    const [now, before] = [object, old].map((state) => (state as RuntimeClass).handler)
    validateImmutable({ now, before }, at)
  }),
}
