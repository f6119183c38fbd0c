/** The configuration of PodTolerationRestriction (upstream: plugin/pkg/admission/podtolerationrestriction/apis). */
import { apiGroup, type Dialect } from '../../api/dialect.ts'
import type { Toleration } from '../../api/generated/types.ts'
import { document, int64, list, struct, text } from '../../machinery/configuration/config-schema.ts'
import {
  readConfiguration,
  refuseFieldErrors,
} from '../../machinery/configuration/read-configuration.ts'
import { FieldPath } from '../../machinery/validation/field-path.ts'
import { validateTolerations } from '../kinds/core/pod/affinity-validation.ts'

/** For namespaces that say nothing of their own. */
export interface PodTolerationSettings {
  readonly defaults: readonly Toleration[]
  readonly allowed: readonly Toleration[]
}

const toleration = struct('Toleration', {
  key: text,
  operator: text,
  value: text,
  effect: text,
  tolerationSeconds: int64,
})
const schema = document('Configuration', {
  default: list(toleration),
  whitelist: list(toleration),
})

interface RawConfiguration {
  readonly default?: readonly Toleration[]
  readonly whitelist?: readonly Toleration[]
}

/** Throws ConfigurationError. */
export function parsePodTolerationConfiguration(
  source: string,
  dialect: Dialect,
): PodTolerationSettings {
  const raw = readConfiguration<RawConfiguration>(source, {
    kind: 'Configuration',
    group: apiGroup(dialect, 'podtolerationrestriction.admission'),
    versions: ['v1alpha1'],
    schema,
  })
  const { default: defaults = [], whitelist: allowed = [] } = raw
  const root = FieldPath.root()
  validateTolerations(defaults, root.child('default'))
  validateTolerations(allowed, root.child('whitelist'))
  refuseFieldErrors(root.errors)
  return { defaults, allowed }
}
