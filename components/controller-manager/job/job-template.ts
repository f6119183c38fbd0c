/** The pod template of a Job as its pods get it (upstream: indexed_job_utils.go; KEP-2214, KEP-4017). Pure. */
import type { Container, Job, JobSpec, Pod, PodTemplateSpec } from '../../api/generated/types.ts'
import { copyJson } from '../../machinery/values/json-copy.ts'
import { indexFailures } from './job-pods.ts'
import type { JobRules } from './job-rules.ts'
import { hasLimitPerIndex } from './job-rules.ts'
import { judgeFailure } from './pod-failure-policy.ts'

const indexVariable = 'JOB_COMPLETION_INDEX'
/** The server adds five characters to make 63. */
const maxPrefixLength = 58

export interface JobPodTemplate {
  readonly template: PodTemplateSpec
  /** Undefined for the usual prefix: the owner's name and a dash. */
  readonly generateName?: string
}

/** For the pod of an index, or of a Job without indexes; `replaced` is the index's last failed pod. */
export function jobPodTemplate(
  { metadata, spec = { template: {} } }: Job,
  rules: JobRules,
  pod: { readonly index?: number | undefined; readonly replaced?: Pod | undefined },
): JobPodTemplate {
  const template = copyJson<PodTemplateSpec>(spec.template)
  const templateMeta = (template.metadata ??= {})
  const { finalizers = [] } = templateMeta
  if (!finalizers.includes(rules.finalizer)) {
    templateMeta.finalizers = [...finalizers, rules.finalizer]
  }
  const { index, replaced } = pod
  if (index === undefined) return { template }
  const { name = '' } = metadata
  const annotations = (templateMeta.annotations ??= {})
  annotations[rules.indexKey] = String(index)
  const labels = (templateMeta.labels ??= {})
  labels[rules.indexKey] = String(index)
  if (hasLimitPerIndex(spec, rules)) {
    const { counted, ignored } = failuresBefore(spec, replaced, rules)
    annotations[rules.failureCountKey] = String(counted)
    if (ignored > 0) annotations[rules.ignoredFailureCountKey] = String(ignored)
  }
  if (template.spec !== undefined) {
    template.spec.hostname = `${name}-${index}`
    const { containers, initContainers = [] } = template.spec
    for (const container of [...initContainers, ...containers]) addIndexVariable(container, rules)
  }
  return { template, generateName: indexedPrefix(name, index) }
}

/** The failures of the index that the next pod is to carry. */
function failuresBefore(spec: JobSpec, last: Pod | undefined, rules: JobRules) {
  if (last === undefined) return { counted: 0, ignored: 0 }
  const { counted, ignored } = indexFailures(last, rules)
  return judgeFailure(spec, last, rules).isCounted
    ? { counted: counted + 1, ignored }
    : { counted, ignored: ignored + 1 }
}

function addIndexVariable(container: Container, { indexKey }: JobRules): void {
  if (container.env?.some(({ name }) => name === indexVariable)) return
  const fieldRef = { fieldPath: `metadata.labels['${indexKey}']` }
  container.env = [...(container.env ?? []), { name: indexVariable, valueFrom: { fieldRef } }]
}

function indexedPrefix(name: string, index: number): string {
  const suffix = `-${index}-`
  return name.slice(0, maxPrefixLength - suffix.length) + suffix
}
