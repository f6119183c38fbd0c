/** Selectors of devices, in DeviceClass and in ResourceClaim (upstream: pkg/apis/resource/validation). */
import { FieldPath } from '../../../machinery/validation/field-path.ts'

const maxSelectors = 32

export interface Selector {
  readonly cel?: { readonly expression?: string }
}

export function validateSelectors(selectors: readonly Selector[] | undefined, at: FieldPath): void {
  const given = selectors ?? []
  if (given.length > maxSelectors) at.tooMany(given.length, maxSelectors)
  for (const [i, { cel }] of given.entries()) {
    if (!cel) at.index(i).child('cel').required()
    else if (!cel.expression) at.index(i).child('cel').child('expression').required()
  }
}
