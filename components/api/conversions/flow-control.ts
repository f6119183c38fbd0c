/** PriorityLevelConfigurations of the beta versions (upstream: pkg/apis/flowcontrol). */
import { apiKey, type Dialect } from '../dialect.ts'
import type { KubeObject } from '../../machinery/objects/object.ts'

/** Marks an explicit share of 0, which the beta version cannot distinguish from an absent one. */
export function keepZeroKey(dialect: Dialect): string {
  return apiKey(dialect, 'flowcontrol', 'v1beta3-preserve-zero-concurrency-shares')
}

interface Limited extends Record<string, unknown> {
  readonly assuredConcurrencyShares?: number
  readonly nominalConcurrencyShares?: number
}

function withLimited(object: KubeObject, change: (limited: Limited) => Limited): KubeObject {
  const spec = (object['spec'] ?? {}) as { readonly limited?: Limited }
  if (!spec.limited) return object
  return { ...object, spec: { ...spec, limited: change(spec.limited) } }
}

/** v1beta1 and v1beta2 have another name for the shares. */
export function concurrencySharesFromBeta(object: KubeObject): KubeObject {
  return withLimited(object, ({ assuredConcurrencyShares: shares, ...limited }) => ({
    ...limited,
    nominalConcurrencyShares: shares || 30,
  }))
}

/** In v1beta3 a share of 0 is one that was not given, unless a note says otherwise. */
export function levelFromV1beta3(object: KubeObject, dialect: Dialect): KubeObject {
  const { [keepZeroKey(dialect)]: keepsZero, ...annotations } = object.metadata.annotations ?? {}
  const converted = withLimited(object, (limited) => ({
    ...limited,
    nominalConcurrencyShares:
      limited.nominalConcurrencyShares || (keepsZero === undefined ? 30 : 0),
  }))
  if (keepsZero === undefined) return converted
  return { ...converted, metadata: { ...object.metadata, annotations } }
}
