/** Rules of probes and lifecycle hooks. */
import type {
  HTTPGetAction,
  Lifecycle,
  LifecycleHandler,
  Probe,
  ProbeHandler,
  SleepAction,
} from '../../../../api/generated/types.ts'
import type { FieldPath } from '../../../../machinery/validation/field-path.ts'
import { httpHeaderName } from '../../../../machinery/validation/names.ts'
import { validateNonNegativeFields, validatePortNumberOrName } from '../../rules/field-rules.ts'

export function validateLivenessProbe(probe: Probe | undefined, at: FieldPath): void {
  if (probe) validateProbeThatSucceedsOnce(probe, at)
}

export function validateStartupProbe(probe: Probe | undefined, at: FieldPath): void {
  if (probe) validateProbeThatSucceedsOnce(probe, at)
}

export function validateReadinessProbe(probe: Probe | undefined, at: FieldPath): void {
  if (!probe) return
  validateProbe(probe, at)
  if (probe.terminationGracePeriodSeconds !== undefined) {
    at.child('terminationGracePeriodSeconds').invalid(
      probe.terminationGracePeriodSeconds,
      'must not be set for readinessProbes',
    )
  }
}

function validateProbeThatSucceedsOnce(probe: Probe, at: FieldPath): void {
  validateProbe(probe, at)
  if (probe.successThreshold !== 1) {
    at.child('successThreshold').invalid(probe.successThreshold ?? 0, 'must be 1')
  }
}

function validateProbe(probe: Probe, at: FieldPath): void {
  validateHandler(probe, undefined, at)
  validateNonNegativeFields(
    probe,
    [
      'initialDelaySeconds',
      'timeoutSeconds',
      'periodSeconds',
      'successThreshold',
      'failureThreshold',
    ],
    at,
  )
  const { terminationGracePeriodSeconds: grace } = probe
  if (grace !== undefined && grace <= 0) {
    at.child('terminationGracePeriodSeconds').invalid(grace, 'must be greater than 0')
  }
}

export function validateLifecycle(
  { postStart, preStop }: Lifecycle,
  gracePeriodSeconds: number,
  at: FieldPath,
): void {
  if (postStart) validateHandler(postStart, gracePeriodSeconds, at.child('postStart'))
  if (preStop) validateHandler(preStop, gracePeriodSeconds, at.child('preStop'))
}

// In the order in which upstream counts them.
const handlerTypes = ['exec', 'httpGet', 'tcpSocket', 'grpc', 'sleep'] as const

function validateHandler(
  handler: ProbeHandler & LifecycleHandler,
  gracePeriodSeconds: number | undefined,
  at: FieldPath,
): void {
  let found = 0
  for (const type of handlerTypes) {
    if (handler[type] === undefined) continue
    if (found++ > 0) at.child(type).forbidden('may not specify more than 1 handler type')
    else validateAction(type, handler, gracePeriodSeconds, at.child(type))
  }
  if (found === 0) at.required('must specify a handler type')
}

function validateAction(
  type: (typeof handlerTypes)[number],
  handler: ProbeHandler & LifecycleHandler,
  gracePeriodSeconds: number | undefined,
  at: FieldPath,
): void {
  switch (type) {
    case 'exec':
      if ((handler.exec?.command ?? []).length === 0) at.child('command').required()
      break
    case 'httpGet':
      if (handler.httpGet) validateHttpGet(handler.httpGet, at)
      break
    case 'tcpSocket':
      validatePortNumberOrName(handler.tcpSocket?.port, at.child('port'))
      break
    case 'grpc':
      validatePortNumberOrName(handler.grpc?.port, at.child('port'))
      break
    case 'sleep':
      if (handler.sleep) validateSleep(handler.sleep, gracePeriodSeconds ?? 0, at)
      break
  }
}

const schemes = ['HTTP', 'HTTPS']

function validateHttpGet({ path, port, scheme, httpHeaders }: HTTPGetAction, at: FieldPath): void {
  if (!path) at.child('path').required()
  validatePortNumberOrName(port, at.child('port'))
  if (!schemes.includes(scheme ?? '')) at.child('scheme').unsupported(scheme ?? '', schemes)
  for (const { name } of httpHeaders ?? []) {
    at.child('httpHeaders').invalidEach(name, httpHeaderName(name))
  }
}

function validateSleep({ seconds }: SleepAction, gracePeriodSeconds: number, at: FieldPath): void {
  if (seconds > 0 && seconds <= gracePeriodSeconds) return
  at.invalid(
    seconds ?? 0,
    `must be greater than 0 and less than terminationGracePeriodSeconds (${gracePeriodSeconds}). Enable AllowPodLifecycleSleepActionZeroValue feature gate for zero sleep.`,
  )
}
