/**
 * What a ControllerRevision holds: a strategic merge patch that replaces the pod template. kubectl compares it byte by byte
 * with what it encodes itself, so keys are sorted and empty fields are those of Go's encoder (upstream: getPatch). Pure.
 */
import type { ControllerRevision, PodTemplateSpec } from '../../api/generated/types.ts'
import { goJson } from '../../machinery/values/go-json.ts'
import { safeHash } from '../safe-hash.ts'

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  const fields = Object.entries(value)
    .filter(([, field]) => field !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(fields.map(([name, field]) => [name, sorted(field)]))
}

export function templatePatch(template: PodTemplateSpec | undefined): unknown {
  const metadata = { creationTimestamp: null, ...template?.metadata }
  return sorted({ spec: { template: { ...template, metadata, $patch: 'replace' } } })
}

/** The hash that names a revision of these data; `collisions` makes another one (upstream: HashControllerRevision). */
export function patchHash(patch: unknown, collisions: number): string {
  return safeHash(`${goJson(patch)}${collisions}`)
}

/** The pod template of a revision; undefined when its data are of another form. */
export function templateOf({ data }: ControllerRevision): PodTemplateSpec | undefined {
  const spec = (data as { spec?: { template?: unknown } } | null | undefined)?.spec
  if (typeof spec?.template !== 'object' || spec.template === null) return undefined
  const { $patch: _, metadata, ...rest } = spec.template as PodTemplateSpec & { $patch?: unknown }
  const { creationTimestamp: __, ...meta } = metadata ?? {}
  return { ...rest, metadata: meta }
}
