/** Rules of containers, init containers and ephemeral containers. */
import type {
  Container,
  ContainerPort,
  EphemeralContainer,
} from '../../../../api/generated/types.ts'
import type { FieldPath } from '../../../../machinery/validation/field-path.ts'
import { label1123, portName, portNumber } from '../../../../machinery/validation/names.ts'
import { validateRequiredOneOf } from '../../rules/field-rules.ts'
import { validateResourceRequirements } from '../../rules/resource-list.ts'
import { validateContainerClaims } from './pod-claim-validation.ts'
import { validateEnvironment, validateEnvironmentSources } from './environment-validation.ts'
import type { ContainerSurroundings } from './pod-rules.ts'
import {
  validateLifecycle,
  validateLivenessProbe,
  validateReadinessProbe,
  validateStartupProbe,
} from './probe-validation.ts'
import { validateContainerSecurityContext } from './security-context-validation.ts'
import { validateVolumeDevices, validateVolumeMounts } from './volume-mount-validation.ts'

const terminationMessagePolicies = ['File', 'FallbackToLogsOnError']
export const pullPolicies = ['Always', 'IfNotPresent', 'Never']

/** The rules that hold for containers of every type. */
function validateAnyContainer(
  container: Container,
  at: FieldPath,
  { rules, volumes, claims }: ContainerSurroundings,
): void {
  if (!container.name) at.child('name').required()
  else {
    const messages = label1123(container.name)
    if (messages.length > 0) at.child('name').invalidEach(container.name, messages)
  }
  if (!container.image) at.child('image').required()
  else if (rules.isPod && container.image.trim() !== container.image) {
    at.child('image').invalid(container.image, 'must not have leading or trailing whitespace')
  }
  validateRequiredOneOf(
    container.terminationMessagePolicy,
    terminationMessagePolicies,
    at.child('terminationMessagePolicy'),
  )
  if (container.ports) validatePorts(container.ports, at.child('ports'))
  if (container.env) validateEnvironment(container.env, at.child('env'))
  if (container.envFrom) validateEnvironmentSources(container.envFrom, at.child('envFrom'))
  if (container.volumeMounts) validateVolumeMounts(container, volumes, at.child('volumeMounts'))
  if (container.volumeDevices) {
    validateVolumeDevices(container, volumes, at.child('volumeDevices'))
  }
  validateRequiredOneOf(container.imagePullPolicy, pullPolicies, at.child('imagePullPolicy'))
  if (container.resources) {
    const resourcesAt = at.child('resources')
    validateResourceRequirements(container.resources, resourcesAt, rules.dialect)
    const { claims: used } = container.resources
    if (used) validateContainerClaims(used, resourcesAt.child('claims'), claims)
  }
  if (container.securityContext) {
    validateContainerSecurityContext(container.securityContext, at.child('securityContext'))
  }
}

const protocols = ['SCTP', 'TCP', 'UDP']

function validatePorts(ports: readonly ContainerPort[], at: FieldPath): void {
  const names = new Set<string>()
  for (const [i, port] of ports.entries()) {
    const { name, containerPort, hostPort, protocol } = port
    const portAt = at.index(i)
    if (name) {
      const messages = portName(name)
      if (messages.length > 0) portAt.child('name').invalidEach(name, messages)
      else if (names.has(name)) portAt.child('name').duplicate(name)
      else names.add(name)
    }
    if (!containerPort) portAt.child('containerPort').required()
    else portAt.child('containerPort').invalidEach(containerPort, portNumber(containerPort))
    if (hostPort) portAt.child('hostPort').invalidEach(hostPort, portNumber(hostPort))
    validateRequiredOneOf(protocol, protocols, portAt.child('protocol'))
  }
}

/** Reports host ports that two of the containers would have to share. */
function validateHostPortConflicts(containers: readonly Container[], at: FieldPath): void {
  const taken = new Set<string>()
  for (const [i, container] of containers.entries()) {
    for (const [j, port] of (container.ports ?? []).entries()) {
      if (!port.hostPort) continue
      const address = `${port.protocol ?? ''}/${port.hostIP ?? ''}/${port.hostPort}`
      if (taken.has(address)) {
        at.index(i).child('ports').index(j).child('hostPort').duplicate(address)
      }
      taken.add(address)
    }
  }
}

function validateRunningContainer(
  container: Container,
  at: FieldPath,
  { gracePeriodSeconds }: ContainerSurroundings,
): void {
  if (container.lifecycle) {
    validateLifecycle(container.lifecycle, gracePeriodSeconds, at.child('lifecycle'))
  }
  if (container.livenessProbe) {
    validateLivenessProbe(container.livenessProbe, at.child('livenessProbe'))
  }
  if (container.readinessProbe) {
    validateReadinessProbe(container.readinessProbe, at.child('readinessProbe'))
  }
  if (container.startupProbe) {
    validateStartupProbe(container.startupProbe, at.child('startupProbe'))
  }
}

export function validateContainers(
  containers: readonly Container[],
  at: FieldPath,
  surroundings: ContainerSurroundings,
): void {
  if (containers.length === 0) {
    at.required()
    return
  }
  const names = new Set<string>()
  for (const [i, container] of containers.entries()) {
    const containerAt = at.index(i)
    validateAnyContainer(container, containerAt, surroundings)
    if (names.has(container.name)) containerAt.child('name').duplicate(container.name)
    names.add(container.name)
    validateRunningContainer(container, containerAt, surroundings)
    if (container.restartPolicy !== undefined) {
      containerAt.child('restartPolicy').forbidden('may not be set for non-init containers')
    }
  }
  validateHostPortConflicts(containers, at)
}

const fieldsOfRunningOnes = [
  'lifecycle',
  'livenessProbe',
  'readinessProbe',
  'startupProbe',
] as const

export function validateInitContainers(
  containers: readonly Container[],
  at: FieldPath,
  surroundings: ContainerSurroundings & { readonly regular: readonly Container[] },
): void {
  const names = new Set(surroundings.regular.map(({ name }) => name))
  for (const [i, container] of containers.entries()) {
    const containerAt = at.index(i)
    validateAnyContainer(container, containerAt, surroundings)
    const { restartPolicy, name } = container
    if (restartPolicy !== undefined && restartPolicy !== 'Always') {
      containerAt.child('restartPolicy').unsupported(restartPolicy, ['Always'])
    }
    if (names.has(name)) containerAt.child('name').duplicate(name)
    else if (name) names.add(name)
    validateHostPortConflicts([container], at)
    if (restartPolicy === 'Always') {
      validateRunningContainer(container, containerAt, surroundings)
      continue
    }
    for (const field of fieldsOfRunningOnes) {
      if (container[field] === undefined) continue
      containerAt
        .child(field)
        .forbidden('may not be set for init containers without restartPolicy=Always')
    }
  }
}

const notForEphemeral = [
  'ports',
  'resources',
  'livenessProbe',
  'readinessProbe',
  'startupProbe',
  'lifecycle',
  'resizePolicy',
  'restartPolicy',
] as const

export function validateEphemeralContainers(
  containers: readonly EphemeralContainer[],
  at: FieldPath,
  surroundings: ContainerSurroundings & { readonly others: readonly Container[] },
): void {
  const otherNames = new Set(surroundings.others.map(({ name }) => name))
  const names = new Set(otherNames)
  // Upstream checks the whitespace around images of ephemeral containers in templates too.
  const strict = { ...surroundings, rules: { ...surroundings.rules, isPod: true } }
  for (const [i, container] of containers.entries()) {
    const containerAt = at.index(i)
    validateAnyContainer(container, containerAt, strict)
    if (names.has(container.name)) containerAt.child('name').duplicate(container.name)
    names.add(container.name)
    const { targetContainerName } = container
    if (targetContainerName && !otherNames.has(targetContainerName)) {
      containerAt.child('targetContainerName').notFound(targetContainerName)
    }
    for (const field of notForEphemeral) {
      if (isUnset(container[field])) continue
      containerAt.child(field).forbidden('cannot be set for an Ephemeral Container')
    }
    for (const [j, mount] of (container.volumeMounts ?? []).entries()) {
      for (const field of ['subPath', 'subPathExpr'] as const) {
        if (!mount[field]) continue
        containerAt
          .child('volumeMounts')
          .index(j)
          .child(field)
          .forbidden('cannot be set for an Ephemeral Container')
      }
    }
  }
}

function isUnset(value: unknown): boolean {
  if (value === undefined || value === '') return true
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0
}
