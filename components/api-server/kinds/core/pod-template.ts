/** PodTemplate (upstream: pkg/apis/core/validation, pkg/registry/core/podtemplate). */
import type { PodTemplate } from '../../../api/generated/types.ts'
import type { FieldPath } from '../../../machinery/validation/field-path.ts'
import type { KubeObject } from '../../../machinery/objects/object.ts'
import { validation } from '../rules/strategy-checks.ts'
import type { StrategyContext, Strategy } from '../strategy.ts'
import { defaultPodTemplate } from './pod/pod-defaults.ts'
import { dropDisabledPodFields } from './pod/pod-features.ts'
import { validatePodTemplate } from './pod/pod-template-validation.ts'
import { templateWarnings } from './pod/pod-warnings.ts'

function validateTemplate(object: KubeObject, root: FieldPath, context: StrategyContext): void {
  validatePodTemplate((object as PodTemplate).template, root.child('template'), context)
}

export const podTemplateStrategy: Strategy = {
  hasGeneration: true,
  applyDefaults(object) {
    defaultPodTemplate(((object as PodTemplate).template ??= {}))
  },
  prepareForCreate(object, { gates }) {
    const { spec } = (object as PodTemplate).template ?? {}
    if (spec) dropDisabledPodFields({ spec }, gates)
  },
  prepareForUpdate(object, old, { gates }) {
    const { spec } = (object as PodTemplate).template ?? {}
    if (spec) dropDisabledPodFields({ spec, old: (old as PodTemplate).template?.spec }, gates)
  },
  ...validation(validateTemplate),
  warnings: (object, _old, { dialect }) =>
    templateWarnings(object, (object as PodTemplate).template, dialect, ['template']),
}
