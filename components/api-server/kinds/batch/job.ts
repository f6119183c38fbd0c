/** Job (upstream: pkg/apis/batch, pkg/registry/batch/job). */
import type { Dialect } from '../../../api/dialect.ts'
import { labelKey } from '../../../api/dialect.ts'
import type { FeatureGates } from '../../../api/feature-gates.ts'
import type { Job, JobSpec, PodTemplateSpec } from '../../../api/generated/types.ts'
import type { FieldPath } from '../../../machinery/validation/field-path.ts'
import { goStringMap } from '../../../machinery/values/go-syntax.ts'
import { matchesLabels } from '../../../machinery/selectors/label-selector.ts'
import { validateLabelSelector } from '../../../machinery/validation/label-validation.ts'
import { label1123 } from '../../../machinery/validation/names.ts'
import type { KubeObject } from '../../../machinery/objects/object.ts'
import { createValidation, updateValidation, type Change } from '../rules/strategy-checks.ts'
import type { Strategy, StrategyContext } from '../strategy.ts'
import { goJson, semanticEqual, validateImmutable } from '../rules/field-rules.ts'
import { validateJobSpec } from './job-spec-validation.ts'
import { validateJobStatusChange } from './job-status-validation.ts'
import { dropDisabledJobFields } from './job-features.ts'
import { defaultPodTemplate } from '../core/pod/pod-defaults.ts'
import { templateWarnings } from '../core/pod/pod-warnings.ts'
import { goLabelSelector, selectorOf } from '../rules/replica-rules.ts'
import { restoreAllButStatus } from '../rules/status-update.ts'

const legacyControllerUid = 'controller-uid'
const legacyJobName = 'job-name'

function controllerUid(dialect: Dialect): string {
  return labelKey(dialect, 'batch', 'controller-uid')
}

function jobName(dialect: Dialect): string {
  return labelKey(dialect, 'batch', 'job-name')
}

function defaultJobSpec(spec: JobSpec, gates: FeatureGates): void {
  // Neither count given: one Pod. Completions alone: one at a time. Parallelism alone: a work queue.
  if (spec.completions === undefined && spec.parallelism === undefined) spec.completions = 1
  spec.parallelism ??= 1
  spec.backoffLimit ??= spec.backoffLimitPerIndex === undefined ? 6 : 2 ** 31 - 1
  spec.completionMode ??= 'NonIndexed'
  spec.suspend ??= false
  if (gates.JobPodReplacementPolicy && spec.podReplacementPolicy === undefined) {
    spec.podReplacementPolicy = spec.podFailurePolicy ? 'Failed' : 'TerminatingOrFailed'
  }
  spec.manualSelector ??= false
  for (const rule of spec.podFailurePolicy?.rules ?? []) {
    for (const pattern of rule.onPodConditions ?? []) pattern.status ||= 'True'
  }
  defaultPodTemplate(spec.template)
}

function defaultJob(object: KubeObject, { gates }: StrategyContext): void {
  const { spec, metadata } = object as Job
  if (spec === undefined) return
  const labels = spec.template?.metadata?.labels
  if (labels !== undefined && Object.keys(metadata.labels ?? {}).length === 0) {
    metadata.labels = { ...labels }
  }
  defaultJobSpec(spec, gates)
}

/** Selects this Job's Pods by its uid, unless the client keeps the selector itself. */
function generateSelector({ metadata, spec }: Job, dialect: Dialect): void {
  if (spec === undefined || spec.manualSelector || !spec.template) return
  const { uid = '', name = '' } = metadata
  const templateMeta = (spec.template.metadata ??= {})
  const labels = (templateMeta.labels ??= {})
  const wanted = {
    [legacyJobName]: name,
    [jobName(dialect)]: name,
    [legacyControllerUid]: uid,
    [controllerUid(dialect)]: uid,
  }
  // Keeps the client's own values, so that validation rejects them.
  for (const [key, value] of Object.entries(wanted)) labels[key] ??= value
  spec.selector ??= {}
  spec.selector.matchLabels ??= {}
  const key = controllerUid(dialect)
  if (spec.selector.matchLabels[key] === undefined) spec.selector.matchLabels[key] = uid
}

function validateHasLabel(
  labels: Readonly<Record<string, string>> | undefined,
  { key, value }: { key: string; value: string },
  at: FieldPath,
): void {
  const actual = labels?.[key]
  if (actual === undefined) at.child('labels').key(key).required(`must be '${value}'`)
  else if (actual !== value) {
    at.child('labels').key(key).invalid(goStringMap(labels), `must be '${value}'`)
  }
}

function validateGeneratedSelector(job: Job, root: FieldPath, dialect: Dialect): void {
  const { metadata, spec } = job
  if (!spec?.selector || spec.manualSelector) return
  const { uid = '', name = '' } = metadata
  if (uid === '') root.child('metadata').child('uid').required()
  const at = root.child('spec').child('template').child('metadata')
  const labels = spec.template?.metadata?.labels
  const expected = {
    [legacyControllerUid]: uid,
    [legacyJobName]: name,
    [controllerUid(dialect)]: uid,
    [jobName(dialect)]: name,
  }
  for (const [key, value] of Object.entries(expected)) validateHasLabel(labels, { key, value }, at)
  const selector = selectorOf(spec.selector)
  if (selector && !matchesLabels(selector, expected)) {
    root
      .child('spec')
      .child('selector')
      .invalid(goLabelSelector(spec.selector), '`selector` not auto-generated')
  }
}

function validateSpecWithSelector(spec: JobSpec, at: FieldPath, context: StrategyContext): void {
  validateJobSpec(spec, at, context)
  const { selector, template } = spec
  if (!selector) at.child('selector').required()
  else validateLabelSelector(selector, at.child('selector'))
  const parsed = selectorOf(selector)
  const labels = template?.metadata?.labels
  if (parsed === undefined || matchesLabels(parsed, labels)) return
  at.child('template')
    .child('metadata')
    .child('labels')
    .invalid(goStringMap(labels), '`selector` does not match template `labels`')
}

function validateJob(job: Job, root: FieldPath, context: StrategyContext): void {
  const spec = job.spec ?? emptySpec
  validateGeneratedSelector(job, root, context.dialect)
  validateSpecWithSelector(spec, root.child('spec'), context)
  const { completions = 0, completionMode } = spec
  if (completionMode === 'Indexed' && completions > 0) {
    const { name = '' } = job.metadata
    const longestHostname = `${name}-${completions - 1}`
    if (label1123(longestHostname).length > 0) {
      root
        .child('metadata')
        .child('name')
        .invalid(name, `will not able to create pod with invalid DNS label: ${longestHostname}`)
    }
  }
}

const emptySpec: JobSpec = { template: {} }

const fixedFields = [
  'completionMode',
  'podFailurePolicy',
  'backoffLimitPerIndex',
  'managedBy',
  'successPolicy',
] as const

function validateJobUpdate(change: Change<Job>, root: FieldPath, context: StrategyContext): void {
  const at = root.child('spec')
  const spec = change.object.spec ?? emptySpec
  const old = change.old.spec ?? emptySpec
  validateSpecWithSelector(spec, at, context)
  validateCompletionsChange(spec, old, at.child('completions'))
  const shown = goLabelSelector(spec.selector)
  validateImmutable({ now: spec.selector, before: old.selector, shown }, at.child('selector'))
  const comparable = isSchedulingMutable(change.old)
    ? withSchedulingOf(old.template, spec.template)
    : old.template
  validateImmutable(
    { now: spec.template, before: comparable, shown: goJson(spec.template) },
    at.child('template'),
  )
  for (const field of fixedFields) {
    validateImmutable({ now: spec[field], before: old[field] }, at.child(field))
  }
}

/** Only Indexed Jobs may change their completions, and only together with their parallelism. */
function validateCompletionsChange(spec: JobSpec, old: JobSpec, at: FieldPath): void {
  const { completions, parallelism, completionMode } = spec
  if (completionMode !== 'Indexed') {
    validateImmutable({ now: completions, before: old.completions }, at)
  } else if (
    completions !== undefined &&
    completions !== old.completions &&
    completions !== parallelism
  ) {
    at.invalid(completions, 'can only be modified in tandem with spec.parallelism')
  }
}

/** A Job that is suspended and has not started may still be sent elsewhere. */
function isSchedulingMutable({ spec, status }: Job): boolean {
  return spec?.suspend === true && !status?.startTime
}

/** The old template with the new one's scheduling directives, so that those do not count as changes. */
function withSchedulingOf(
  old: PodTemplateSpec | undefined,
  now: PodTemplateSpec | undefined,
): PodTemplateSpec {
  const { nodeAffinity, ...others } = now?.spec?.affinity ?? {}
  const { nodeAffinity: _, ...oldOthers } = old?.spec?.affinity ?? {}
  const affinity = {
    ...oldOthers,
    ...(nodeAffinity === undefined ? {} : { nodeAffinity }),
  }
  const merged: Record<string, unknown> = { ...old?.spec }
  for (const field of ['nodeSelector', 'tolerations', 'schedulingGates'] as const) {
    merged[field] = now?.spec?.[field]
  }
  const keepsAffinity = now?.spec?.affinity !== undefined || !semanticEqual(others, oldOthers)
  merged['affinity'] = keepsAffinity ? affinity : undefined
  const metadata: Record<string, unknown> = { ...old?.metadata }
  for (const field of ['labels', 'annotations'] as const) metadata[field] = now?.metadata?.[field]
  return { metadata, spec: merged } as unknown as PodTemplateSpec
}

/** A name that is no DNS label cannot become a host name. */
function hostnameWarnings({ metadata: { name = '' } }: KubeObject): string[] {
  const messages = label1123(name)
  if (name === '' || messages.length === 0) return []
  return [
    `metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is recommended: [${messages.join(' ')}]`,
  ]
}

export const jobStrategy: Strategy = {
  hasGeneration: true,
  orphansByDefault: true,
  applyDefaults: defaultJob,
  prepareForCreate(object, { dialect, gates }) {
    generateSelector(object as Job, dialect)
    object['status'] = {}
    dropDisabledJobFields(object as Job, undefined, gates)
  },
  prepareForUpdate(object, old, { gates }) {
    dropDisabledJobFields(object as Job, old as Job, gates)
  },
  validate: createValidation(validateJob),
  validateUpdate: updateValidation(validateJobUpdate),
  warnings(object, old, { dialect }) {
    const own = old === undefined ? hostnameWarnings(object) : []
    if (old !== undefined && old.metadata.generation === object.metadata.generation) return own
    const { template } = (object as Job).spec ?? {}
    return [...own, ...templateWarnings(object, template, dialect, ['spec', 'template'])]
  },
  subresources: {
    status: {
      prepareForUpdate: restoreAllButStatus,
      validateUpdate: updateValidation((change: Change<Job>, root, { gates }) => {
        validateJobStatusChange(change, root.child('status'), gates)
      }),
    },
  },
}
