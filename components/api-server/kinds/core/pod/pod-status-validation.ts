/** What an update of a Pod's status may hold (upstream: core/validation ValidatePodStatusUpdate). */
import type { ContainerStatus, Pod } from '../../../../api/generated/types.ts'
import type { FieldPath } from '../../../../machinery/validation/field-path.ts'
import { goJson, validateSubdomain } from '../../rules/field-rules.ts'
import { validateClaimStatuses } from './pod-claim-validation.ts'
import { isDualStack, validateIpAddress } from '../../../../machinery/validation/ip-address.ts'
import { qualifiedName } from '../../../../machinery/validation/names.ts'

const systemConditions = new Set(['PodScheduled', 'Ready', 'Initialized'])

export function validatePodStatusChange(pod: Pod, old: Pod, root: FieldPath): void {
  const status = pod.status ?? {}
  const oldStatus = old.status ?? {}
  // Upstream reports conditions below the metadata; clients have seen it so.
  const conditionsAt = root.child('metadata').child('conditions')
  for (const [i, { type }] of (status.conditions ?? []).entries()) {
    if (systemConditions.has(type)) continue
    conditionsAt.index(i).child('Type').invalidEach(type, qualifiedName(type))
  }
  const at = root.child('status')
  if (pod.spec?.nodeName !== old.spec?.nodeName) {
    at.child('nodeName').forbidden('may not be changed directly')
  }
  if (status.nominatedNodeName && status.nominatedNodeName !== oldStatus.nominatedNodeName) {
    validateSubdomain(status.nominatedNodeName, at.child('nominatedNodeName'))
  }
  const policy = old.spec?.restartPolicy
  for (const list of ['containerStatuses', 'initContainerStatuses'] as const) {
    validateTransitions(status[list], oldStatus[list], at.child(list), policy)
  }
  validateTransitions(
    status.ephemeralContainerStatuses,
    oldStatus.ephemeralContainerStatuses,
    at.child('ephemeralContainerStatuses'),
    'Never',
  )
  validateClaimStatuses(
    status.resourceClaimStatuses ?? [],
    at.child('resourceClaimStatuses'),
    pod.spec?.resourceClaims ?? [],
  )
  validateAddresses(status.podIPs, at.child('podIPs'))
  const hostIps = status.hostIPs ?? []
  if (hostIps.length > 0 && hostIps[0]?.ip !== status.hostIP) {
    at.child('hostIPs')
      .index(0)
      .child('ip')
      .invalid(hostIps[0]?.ip ?? '', 'must be equal to `hostIP`')
  }
  validateAddresses(status.hostIPs, at.child('hostIPs'))
}

/** A container that has ended for good stays ended. */
function validateTransitions(
  statuses: readonly ContainerStatus[] = [],
  old: readonly ContainerStatus[] = [],
  at: FieldPath,
  restartPolicy: string | undefined,
): void {
  if (restartPolicy === 'Always') return
  for (const [i, before] of old.entries()) {
    const ended = before.state?.terminated
    if (ended === undefined) continue
    if ((ended.exitCode ?? 0) !== 0 && restartPolicy === 'OnFailure') continue
    const revived = statuses.some(
      ({ name, state }) => name === before.name && state?.terminated === undefined,
    )
    if (revived) {
      at.index(i).child('state').forbidden('may not be transitioned to non-terminated state')
    }
  }
}

function validateAddresses(addresses: readonly { ip: string }[] = [], at: FieldPath): void {
  const texts = addresses.map(({ ip }) => ip)
  for (const [i, text] of texts.entries()) validateIpAddress(text, at.index(i))
  if (texts.length < 2) return
  if (texts.length > 2 || !isDualStack(texts)) {
    at.invalid(goJson(addresses), 'may specify no more than one IP for each IP family')
  }
  for (const [i, text] of texts.entries()) {
    if (texts.indexOf(text) < i) at.index(i).duplicate(goJson({ ip: text }))
  }
}
