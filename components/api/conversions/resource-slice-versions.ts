/** ResourceSlices of v1alpha3 and v1beta1: an amount is a plain quantity in the one and a struct in the other. */
import type { KubeObject } from '../../machinery/objects/object.ts'

type Fields = Readonly<Record<string, unknown>>

interface Device extends Fields {
  readonly basic?: Fields & { readonly capacity?: Fields | null }
}

function withAmounts(object: KubeObject, change: (amount: unknown) => unknown): KubeObject {
  const spec = object['spec'] as (Fields & { readonly devices?: readonly Device[] }) | undefined
  if (!spec?.devices) return object
  const devices = spec.devices.map((device) => {
    const capacity = device.basic?.capacity
    if (!capacity) return device
    const changed = Object.entries(capacity).map(([name, amount]) => [name, change(amount)])
    return {
      ...device,
      basic: { ...device.basic, capacity: Object.fromEntries(changed) as Fields },
    }
  })
  return { ...object, spec: { ...spec, devices } }
}

export function resourceSliceFromV1alpha3(object: KubeObject): KubeObject {
  return withAmounts(object, (value) => ({ value }))
}

export function resourceSliceToV1alpha3(object: KubeObject): KubeObject {
  return withAmounts(object, (amount) => (amount as { readonly value?: unknown } | null)?.value)
}
