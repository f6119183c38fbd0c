/** Who refused a request in admission: kept beside the error, for people who ask why. */
import type { AdmissionRefusal } from '../../api/explanations.ts'

const refusals = new WeakMap<object, Partial<AdmissionRefusal>>()

/** Notes on the error who refused; what was noted before, closer to the decision, stays. */
export function refusedBy<E>(error: E, by: Partial<AdmissionRefusal>): E {
  if (typeof error === 'object' && error !== null) {
    refusals.set(error, { ...by, ...refusals.get(error) })
  }
  return error
}

/** Undefined when it was not admission that refused. */
export function refusalOf(error: unknown): AdmissionRefusal | undefined {
  const noted = typeof error === 'object' && error !== null ? refusals.get(error) : undefined
  return noted?.plugin === undefined ? undefined : { ...noted, plugin: noted.plugin }
}
