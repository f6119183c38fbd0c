/** The plugin, webhook or policy that rejected a request in admission, noted beside the error for `skiff why`. */
import type { AdmissionRefusal } from '../../api/explanations.ts'

const refusals = new WeakMap<object, Partial<AdmissionRefusal>>()

/** Adds to the note of an error; earlier fields, which are closer to the decision, stay. */
export function refusedBy<E>(error: E, by: Partial<AdmissionRefusal>): E {
  if (typeof error === 'object' && error !== null) {
    refusals.set(error, { ...by, ...refusals.get(error) })
  }
  return error
}

/** Undefined when admission did not reject the request. */
export function refusalOf(error: unknown): AdmissionRefusal | undefined {
  const noted = typeof error === 'object' && error !== null ? refusals.get(error) : undefined
  return noted?.plugin === undefined ? undefined : { ...noted, plugin: noted.plugin }
}
