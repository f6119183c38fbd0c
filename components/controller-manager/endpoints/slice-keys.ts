/** Labels of EndpointSlices and annotations of Endpoints, in the dialect's names. */
import type { Dialect } from '../../api/dialect.ts'
import { apiKey, labelKey } from '../../api/dialect.ts'

export interface SliceKeys {
  readonly serviceName: string
  readonly managedBy: string
  readonly headless: string
  /** On Endpoints that are not to be mirrored. */
  readonly skipMirror: string
  /** The names of the managers of slices. */
  readonly managers: { readonly slices: string; readonly mirroring: string }
}

export function sliceKeys(dialect: Dialect): SliceKeys {
  // Managers are names below the API's domain, without a path.
  const manager = (name: string): string => apiKey(dialect, name, '').slice(0, -1)
  return {
    serviceName: labelKey(dialect, '', 'service-name'),
    managedBy: labelKey(dialect, 'endpointslice', 'managed-by'),
    headless: labelKey(dialect, 'service', 'headless'),
    skipMirror: labelKey(dialect, 'endpointslice', 'skip-mirror'),
    managers: {
      slices: manager('endpointslice-controller'),
      mirroring: manager('endpointslicemirroring-controller'),
    },
  }
}

/** The annotation of Endpoints that old clients elect leaders with. */
export function leaderRecordKey(dialect: Dialect): string {
  return labelKey(dialect, 'control-plane.alpha', 'leader')
}
