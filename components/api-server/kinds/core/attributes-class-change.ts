/** Changes of the class of attributes of a claim or a volume (upstream: core/validation; KEP-3751). */
import type { FieldPath } from '../../../machinery/validation/field-path.ts'
import type { StrategyContext } from '../strategy.ts'

interface Classed {
  readonly volumeAttributesClassName?: string
}

/** Another class may be asked for, but who has one cannot ask for none. */
export function validateAttributesClassChange(
  { now, before }: { readonly now: Classed; readonly before: Classed },
  at: FieldPath,
  { gates }: StrategyContext,
): void {
  const [name, old] = [now.volumeAttributesClassName, before.volumeAttributesClassName]
  if (name === old) return
  if (!gates.VolumeAttributesClass) {
    at.forbidden('update is forbidden when the VolumeAttributesClass feature gate is disabled')
  } else if (old !== undefined && name === undefined) {
    at.forbidden('update from non-nil value to nil is forbidden')
  }
}
