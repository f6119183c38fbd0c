/** Workloads of `extensions/v1beta1`, `apps/v1beta1` and `apps/v1beta2` (upstream: pkg/apis/extensions, pkg/apis/apps). */
import type { KubeObject } from '../../machinery/objects/object.ts'

interface Spec extends Record<string, unknown> {
  readonly selector?: unknown
  readonly template?: { readonly metadata?: { readonly labels?: unknown } }
}

function noted(object: KubeObject, key: string, value: unknown): KubeObject {
  if (typeof value !== 'number' || value === 0) return object
  const { metadata } = object
  return {
    ...object,
    metadata: { ...metadata, annotations: { ...metadata.annotations, [key]: String(value) } },
  }
}

/** The selector could be left out: it was the labels of the template. */
function withSelector(spec: Spec): Spec {
  const labels = spec.template?.metadata?.labels
  if (spec.selector || !labels) return spec
  return { ...spec, selector: { matchLabels: labels } }
}

export function deploymentFromBeta(object: KubeObject): KubeObject {
  const { rollbackTo, ...spec } = (object['spec'] ?? {}) as Spec
  const revision = (rollbackTo as { readonly revision?: number } | undefined)?.revision
  return noted(
    { ...object, spec: withSelector(spec) },
    'deprecated.deployment.rollback.revision',
    revision,
  )
}

export function daemonSetFromBeta(object: KubeObject): KubeObject {
  const { templateGeneration, ...spec } = (object['spec'] ?? {}) as Spec
  return noted(
    { ...object, spec: withSelector({ updateStrategy: { type: 'OnDelete' }, ...spec }) },
    'deprecated.daemonset.template.generation',
    templateGeneration,
  )
}

export function statefulSetFromBeta(object: KubeObject): KubeObject {
  const spec = (object['spec'] ?? {}) as Spec
  return { ...object, spec: withSelector({ updateStrategy: { type: 'OnDelete' }, ...spec }) }
}
