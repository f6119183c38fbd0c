/** Rules for the selector and the pod template of every kind in the group apps that has one. */
import type { DeploymentSpec, Deployment } from '../../../api/generated/types.ts'
import type { FieldPath } from '../../../machinery/validation/field-path.ts'
import type { KubeObject } from '../../../machinery/objects/object.ts'
import type { Change } from '../rules/strategy-checks.ts'
import type { StrategyContext, Strategy } from '../strategy.ts'
import { validateImmutable } from '../rules/field-rules.ts'
import { dropDisabledPodFields } from '../core/pod/pod-features.ts'
import { templateWarnings } from '../core/pod/pod-warnings.ts'
import { goLabelSelector } from '../rules/replica-rules.ts'

export const emptySpec = { selector: undefined, template: undefined } as unknown as DeploymentSpec

/** The selector is fixed at creation. */
export function validateSameSelector({ object, old }: Change<KubeObject>, root: FieldPath): void {
  const now = (object as Deployment).spec?.selector
  const before = (old as Deployment).spec?.selector
  validateImmutable(
    { now, before, shown: goLabelSelector(now) },
    root.child('spec').child('selector'),
  )
}

export function dropDisabledTemplateFields(
  object: KubeObject,
  old: KubeObject | undefined,
  { gates }: StrategyContext,
): void {
  const spec = (object as Deployment).spec?.template?.spec
  const before = (old as Deployment | undefined)?.spec?.template?.spec
  if (spec) dropDisabledPodFields({ spec, old: before }, gates)
}

function changedTemplateWarnings(
  object: KubeObject,
  old: KubeObject | undefined,
  { dialect }: StrategyContext,
): string[] {
  if (old !== undefined && old.metadata.generation === object.metadata.generation) return []
  return templateWarnings(object, (object as Deployment).spec?.template, dialect, [
    'spec',
    'template',
  ])
}

/** What Deployments and the other controllers with a template at `spec.template` do alike. */
export const templateHooks = {
  prepareForCreate(object: KubeObject, context: StrategyContext) {
    object['status'] = {}
    dropDisabledTemplateFields(object, undefined, context)
  },
  prepareForUpdate: dropDisabledTemplateFields,
  warnings: changedTemplateWarnings,
  hasGeneration: true,
} satisfies Strategy
