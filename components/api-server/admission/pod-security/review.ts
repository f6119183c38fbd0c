/** Review: one request under PodSecurity, with the plugin's configuration. */
import { labelKey, type Dialect } from '../../../api/dialect.ts'
import type { ObjectReader } from '../../watch-cache/object-reader.ts'
import type { AdmissionRequest } from '../admission.ts'
import type { PodSecurityRules, policyLabels } from './policy.ts'

/** Everything that holds for all requests. */
export interface PodSecurity {
  readonly reader: ObjectReader
  readonly dialect: Dialect
  readonly rules: PodSecurityRules
  readonly names: ReturnType<typeof policyLabels>
  /** Annotation keys of profiles, which the standards read. */
  readonly annotations: { readonly appArmor: string; readonly seccomp: string }
}

/** One request under the plugin. */
export interface Review extends PodSecurity {
  readonly request: AdmissionRequest
}

/** Adds to the audit record; the last value wins. */
export function note({ request, dialect }: Review, values: Readonly<Record<string, string>>): void {
  const noted = request.context?.annotations
  if (noted === undefined) return
  for (const [name, value] of Object.entries(values)) {
    noted[`/${labelKey(dialect, 'pod-security', name)}`] = value
  }
}
