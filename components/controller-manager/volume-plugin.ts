/** Names of volume plugins as metrics have them (upstream: pkg/volume, volume/util GetFullQualifiedPluginNameForVolume). Pure. */
import { labelKey } from '../api/dialect.ts'
import type { Dialect } from '../api/dialect.ts'
import type { PersistentVolume } from '../api/generated/types.ts'

/** The plugin of a CSI driver: `kubernetes.io/csi:DRIVER`. */
export function csiPlugin(driver: string, dialect: Dialect): string {
  return `${labelKey(dialect, '', 'csi')}:${driver}`
}

/** `N/A` for a volume that no plugin of the controller manager handles. */
export function pluginOfVolume({ spec }: PersistentVolume, dialect: Dialect): string {
  if (spec?.csi !== undefined) return csiPlugin(spec.csi.driver, dialect)
  if (spec?.hostPath !== undefined) return labelKey(dialect, '', 'host-path')
  if (spec?.nfs !== undefined) return labelKey(dialect, '', 'nfs')
  return spec?.local === undefined ? 'N/A' : labelKey(dialect, '', 'local-volume')
}
