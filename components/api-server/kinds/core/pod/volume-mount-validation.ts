/** Rules of a container's volume mounts and block devices. */
import type { Container, Volume, VolumeMount } from '../../../../api/generated/types.ts'
import type { FieldPath } from '../../../../machinery/validation/field-path.ts'
import { hasBacksteps, validateLocalDescendingPath } from '../../rules/field-rules.ts'

type Volumes = ReadonlyMap<string, Volume>

/** `at` is the list; some faults of an entry are reported at the list's own fields, as upstream does. */
export function validateVolumeMounts(container: Container, volumes: Volumes, at: FieldPath): void {
  const devices = container.volumeDevices ?? []
  const deviceNames = new Set(devices.map(({ name }) => name))
  const devicePaths = new Set(devices.map(({ devicePath }) => devicePath))
  const paths = new Set<string>()
  for (const [i, mount] of (container.volumeMounts ?? []).entries()) {
    const { name, mountPath, subPath, subPathExpr } = mount
    if (!name) at.index(i).child('name').required()
    if (!volumes.has(name))
      at.index(i)
        .child('name')
        .notFound(name ?? '')
    if (!mountPath) at.index(i).child('mountPath').required()
    if (paths.has(mountPath)) at.index(i).child('mountPath').invalid(mountPath, 'must be unique')
    paths.add(mountPath)
    if (deviceNames.has(name)) {
      at.index(i).child('name').invalid(name, 'must not already exist in volumeDevices')
    }
    if (devicePaths.has(mountPath)) {
      at.index(i)
        .child('mountPath')
        .invalid(mountPath, 'must not already exist as a path in volumeDevices')
    }
    if (subPath) validateLocalDescendingPath(subPath, at.child('subPath'))
    if (subPathExpr) {
      if (subPath) {
        at.index(i)
          .child('subPathExpr')
          .invalid(subPathExpr, 'subPathExpr and subPath are mutually exclusive')
      }
      validateLocalDescendingPath(subPathExpr, at.child('subPathExpr'))
    }
    if (mount.mountPropagation !== undefined) {
      validatePropagation(mount, container, at.child('mountPropagation'))
    }
    if (mount.recursiveReadOnly !== undefined) {
      validateRecursiveReadOnly(mount, at.index(i).child('recursiveReadOnly'))
    }
  }
}

const propagations = ['Bidirectional', 'HostToContainer', 'None']

function validatePropagation(
  { mountPropagation = '' }: VolumeMount,
  container: Container,
  at: FieldPath,
): void {
  if (!propagations.includes(mountPropagation)) at.unsupported(mountPropagation, propagations)
  if (mountPropagation === 'Bidirectional' && container.securityContext?.privileged !== true) {
    at.forbidden('Bidirectional mount propagation is available only to privileged containers')
  }
}

const recursiveReadOnlyModes = ['Disabled', 'IfPossible', 'Enabled']

function validateRecursiveReadOnly(mount: VolumeMount, at: FieldPath): void {
  const { recursiveReadOnly = '', readOnly, mountPropagation = 'None' } = mount
  if (!recursiveReadOnlyModes.includes(recursiveReadOnly)) {
    at.unsupported(recursiveReadOnly, recursiveReadOnlyModes)
  } else if (recursiveReadOnly !== 'Disabled') {
    if (!readOnly) at.forbidden('may only be specified when readOnly is true')
    if (mountPropagation !== 'None') {
      at.forbidden('may only be specified when mountPropagation is None or not specified')
    }
  }
}

export function validateVolumeDevices(container: Container, volumes: Volumes, at: FieldPath): void {
  const mounts = container.volumeMounts ?? []
  const mountNames = new Set(mounts.map(({ name }) => name))
  const mountPaths = new Set(mounts.map(({ mountPath }) => mountPath))
  const paths = new Set<string>()
  const names = new Set<string>()
  for (const [i, { name, devicePath }] of (container.volumeDevices ?? []).entries()) {
    const nameAt = at.index(i).child('name')
    const pathAt = at.index(i).child('devicePath')
    const volume = volumes.get(name)
    if (!name) nameAt.required()
    if (names.has(name)) nameAt.invalid(name, 'must be unique')
    if (volume === undefined) nameAt.notFound(name ?? '')
    else if (!volume.persistentVolumeClaim && !volume.ephemeral) {
      nameAt.invalid(
        name,
        'can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode',
      )
    }
    if (!devicePath) pathAt.required()
    if (paths.has(devicePath)) pathAt.invalid(devicePath, 'must be unique')
    if (devicePath && hasBacksteps(devicePath)) {
      pathAt.invalid(devicePath, "can not contain backsteps ('..')")
    } else paths.add(devicePath)
    if (mountNames.has(name)) {
      nameAt.invalid(name, 'must not already exist in volumeMounts')
    }
    if (mountPaths.has(devicePath)) {
      pathAt.invalid(devicePath, 'must not already exist as a path in volumeMounts')
    }
    if (name) names.add(name)
  }
}
