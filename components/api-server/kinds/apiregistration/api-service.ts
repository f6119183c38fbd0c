/** APIService (upstream: kube-aggregator pkg/apis/apiregistration). */
import type { APIService, APIServiceCondition } from '../../../api/generated/types.ts'
import { timestamp } from '../../../component-base/clock.ts'
import type { FieldPath } from '../../../machinery/validation/field-path.ts'
import { goQuote } from '../../../machinery/values/go-syntax.ts'
import {
  label1035,
  pathSegment,
  portNumber,
  subdomain,
} from '../../../machinery/validation/names.ts'
import type { KubeObject } from '../../../machinery/objects/object.ts'
import { updateValidation, validation, type Change } from '../rules/strategy-checks.ts'
import type { Strategy } from '../strategy.ts'
import { restoreAllButStatus } from '../rules/status-update.ts'

const maxGroupPriority = 20_000
const maxVersionPriority = 1_000

function validate(object: KubeObject, root: FieldPath): void {
  const { metadata, spec } = object as APIService
  const { group = '', version = '', service, caBundle, insecureSkipTLSVerify = false } = spec ?? {}
  const { name = '' } = metadata
  const fullName = `${version}.${group}`
  if (name !== fullName && pathSegment(name).length === 0) {
    const why = `must be \`spec.version+"."+spec.group\`: ${goQuote(fullName)}`
    root.child('metadata').child('name').invalid(name, why)
  }
  const at = root.child('spec')
  if (group !== '') at.child('group').invalidEach(group, subdomain(group))
  else if (version !== 'v1') {
    at.child('group').required('only v1 may have an empty group and it better be legacy kube')
  }
  at.child('version').invalidEach(version, label1035(version))
  const { groupPriorityMinimum: minimum = 0, versionPriority = 0 } = spec ?? {}
  if (minimum <= 0 || minimum > maxGroupPriority) {
    at.child('groupPriorityMinimum').invalid(minimum, 'must be positive and less than 20000')
  }
  if (versionPriority <= 0 || versionPriority > maxVersionPriority) {
    at.child('versionPriority').invalid(versionPriority, 'must be positive and less than 1000')
  }
  const insecureAt = at.child('insecureSkipTLSVerify')
  if (!service) {
    if (caBundle) {
      const bytes = Buffer.from(caBundle, 'base64').length
      at.child('caBundle').invalid(`${bytes} bytes`, 'local APIServices may not have a caBundle')
    }
    if (insecureSkipTLSVerify) {
      insecureAt.invalid(true, 'local APIServices may not have insecureSkipTLSVerify')
    }
    return
  }
  const serviceAt = at.child('service')
  for (const field of ['namespace', 'name'] as const) {
    if (!service[field]) serviceAt.child(field).required()
  }
  const { port = 0 } = service
  const portFaults = portNumber(port)
  if (portFaults.length > 0) {
    serviceAt.child('port').invalid(port, `port is not valid: ${portFaults.join(', ')}`)
  }
  if (insecureSkipTLSVerify && caBundle) {
    insecureAt.invalid(true, 'may not be true if caBundle is present')
  }
}

/** The condition of what this server serves itself. */
export function localAvailability(nowMs: number): APIServiceCondition {
  return {
    type: 'Available',
    status: 'True',
    lastTransitionTime: timestamp(nowMs),
    reason: 'Local',
    message: 'Local APIServices are always available',
  }
}

const conditionStatuses = ['True', 'False', 'Unknown']

export const apiServiceStrategy: Strategy = {
  nameForm: 'path',
  allowUnconditionalUpdate: false,
  applyDefaults(object) {
    const { service } = (object as APIService).spec ?? {}
    if (service) service.port ??= 443
  },
  prepareForCreate(object, { nowMs }) {
    object['status'] = {}
    if ((object as APIService).spec?.service) return
    object['status'] = { conditions: [localAvailability(nowMs)] }
  },
  ...validation(validate),
  subresources: {
    status: {
      prepareForUpdate: restoreAllButStatus,
      validateUpdate: updateValidation(({ object }: Change<KubeObject>, root) => {
        const at = root.child('status').child('conditions')
        for (const [i, { status }] of ((object as APIService).status?.conditions ?? []).entries()) {
          if (conditionStatuses.includes(status)) continue
          at.index(i).child('status').unsupported(status, conditionStatuses)
        }
      }),
    },
  },
}
