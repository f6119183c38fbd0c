/** What a Pod may not ask for on one operating system, and the rules of Windows host processes. */
import type { Container, PodSpec } from '../../../../api/generated/types.ts'
import type { FieldPath } from '../../../../machinery/validation/field-path.ts'

const systems = ['linux', 'windows']

export function validatePodOs(spec: PodSpec, at: FieldPath): void {
  validateHostProcesses(spec, at)
  if (spec.os === undefined) return
  const { name } = spec.os
  if (!name) at.child('os').child('name').required('cannot be empty')
  else if (name === 'linux') refuseWindowsOptions(spec, at)
  else if (name === 'windows') refuseLinuxOptions(spec, at)
  else at.child('os').unsupported(name, systems)
}

/** Every container of the Pod with its path, of all three lists. */
export function containersOf(spec: PodSpec, at: FieldPath): PlacedContainer[] {
  const found: PlacedContainer[] = []
  for (const list of ['initContainers', 'containers', 'ephemeralContainers'] as const) {
    for (const [i, container] of (spec[list] ?? []).entries()) {
      found.push({ container, at: at.child(list).index(i) })
    }
  }
  return found
}

export interface PlacedContainer {
  readonly container: Container
  readonly at: FieldPath
}

function refuseWindowsOptions(spec: PodSpec, at: FieldPath): void {
  const why = 'windows options cannot be set for a linux pod'
  if (spec.securityContext?.windowsOptions) {
    at.child('securityContext').child('windowsOptions').forbidden(why)
  }
  for (const { container, at: containerAt } of containersOf(spec, at)) {
    if (container.securityContext?.windowsOptions) {
      containerAt.child('securityContext').child('windowsOptions').forbidden(why)
    }
  }
}

const linuxPodContextFields = [
  'appArmorProfile',
  'seLinuxOptions',
  'seccompProfile',
  'fsGroup',
  'fsGroupChangePolicy',
  'sysctls',
  'runAsUser',
  'runAsGroup',
  'supplementalGroups',
  'supplementalGroupsPolicy',
  'seLinuxChangePolicy',
] as const
const linuxPodFields = ['hostUsers', 'hostPID', 'hostIPC', 'shareProcessNamespace'] as const
const linuxContainerContextFields = [
  'appArmorProfile',
  'seLinuxOptions',
  'seccompProfile',
  'capabilities',
  'readOnlyRootFilesystem',
  'privileged',
  'allowPrivilegeEscalation',
  'procMount',
  'runAsUser',
  'runAsGroup',
] as const

function refuseLinuxOptions(spec: PodSpec, at: FieldPath): void {
  const why = 'cannot be set for a windows pod'
  for (const field of linuxPodFields) {
    if (spec[field] !== undefined) at.child(field).forbidden(why)
  }
  for (const field of linuxPodContextFields) {
    if (spec.securityContext?.[field] !== undefined) {
      at.child('securityContext').child(field).forbidden(why)
    }
  }
  for (const { container, at: containerAt } of containersOf(spec, at)) {
    for (const field of linuxContainerContextFields) {
      if (container.securityContext?.[field] !== undefined) {
        containerAt.child('securityContext').child(field).forbidden(why)
      }
    }
  }
}

/** Host processes come all together, on the host's network. */
function validateHostProcesses(spec: PodSpec, at: FieldPath): void {
  const ofPod = spec.securityContext?.windowsOptions?.hostProcess
  let containers = 0
  let hostProcesses = 0
  for (const { container, at: containerAt } of containersOf(spec, at)) {
    containers++
    const own = container.securityContext?.windowsOptions?.hostProcess
    if (ofPod !== undefined && own !== undefined && ofPod !== own) {
      containerAt
        .child('securityContext')
        .child('windowsOptions')
        .child('hostProcess')
        .invalid(own, `pod hostProcess value must be identical if both are specified, was ${ofPod}`)
    }
    if (own ?? ofPod) hostProcesses++
  }
  if (hostProcesses === 0) return
  if (hostProcesses !== containers) {
    at.invalid(
      '',
      'If pod contains any hostProcess containers then all containers must be HostProcess containers',
    )
  }
  if (!spec.hostNetwork) {
    at.child('hostNetwork').invalid(
      false,
      'hostNetwork must be true if pod contains any hostProcess containers',
    )
  }
}
