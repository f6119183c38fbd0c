/** SpecError: the spec of an autoscaler is invalid, so that only its user can help (upstream: horizontal.go, errSpec). */
export class SpecError extends Error {
  override readonly name = 'SpecError'
}
