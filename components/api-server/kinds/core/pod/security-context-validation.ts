/** Rules of security contexts of Pods and containers. */
import type {
  AppArmorProfile,
  PodSecurityContext,
  PodSpec,
  SeccompProfile,
  SecurityContext,
  Sysctl,
  WindowsSecurityContextOptions,
} from '../../../../api/generated/types.ts'
import type { FieldPath } from '../../../../machinery/validation/field-path.ts'
import { subdomain, userOrGroupId } from '../../../../machinery/validation/names.ts'
import { goJson, validateLocalDescendingPath, validateOneOf } from '../../rules/field-rules.ts'
import { userNameFaults } from './windows-user-name.ts'

function validateIds(
  context: PodSecurityContext | SecurityContext,
  names: readonly ('runAsUser' | 'runAsGroup')[],
  at: FieldPath,
): void {
  for (const name of names) {
    const id = context[name]
    if (id !== undefined) at.child(name).invalidEach(id, userOrGroupId(id))
  }
}

export function validatePodSecurityContext(spec: PodSpec, at: FieldPath): void {
  const context = spec.securityContext
  if (context === undefined) return
  const { fsGroup, supplementalGroups, sysctls, windowsOptions } = context
  if (fsGroup !== undefined) at.child('fsGroup').invalidEach(fsGroup, userOrGroupId(fsGroup))
  validateIds(context, ['runAsUser', 'runAsGroup'], at)
  for (const [i, group] of (supplementalGroups ?? []).entries()) {
    at.child('supplementalGroups').index(i).invalidEach(group, userOrGroupId(group))
  }
  if (spec.shareProcessNamespace && spec.hostPID) {
    at.child('shareProcessNamespace').invalid(
      true,
      'ShareProcessNamespace and HostPID cannot both be enabled',
    )
  }
  if (sysctls) validateSysctls(sysctls, spec, at.child('sysctls'))
  validateOneOf(
    context.fsGroupChangePolicy,
    ['Always', 'OnRootMismatch'],
    at.child('fsGroupChangePolicy'),
  )
  if (context.seccompProfile) validateSeccomp(context.seccompProfile, at.child('seccompProfile'))
  if (windowsOptions) validateWindowsOptions(windowsOptions, at.child('windowsOptions'))
  if (context.appArmorProfile) {
    validateAppArmor(context.appArmorProfile, at.child('appArmorProfile'))
  }
  validateOneOf(
    context.supplementalGroupsPolicy,
    ['Merge', 'Strict'],
    at.child('supplementalGroupsPolicy'),
  )
  // The other policy needs the gate SELinuxMount, which is not here.
  validateOneOf(context.seLinuxChangePolicy, ['Recursive'], at.child('seLinuxChangePolicy'))
}

export function validateContainerSecurityContext(context: SecurityContext, at: FieldPath): void {
  validateIds(context, ['runAsUser', 'runAsGroup'], at)
  validateOneOf(context.procMount, ['Default', 'Unmasked'], at.child('procMount'))
  if (context.seccompProfile) validateSeccomp(context.seccompProfile, at.child('seccompProfile'))
  if (context.allowPrivilegeEscalation === false) {
    if (context.privileged) {
      at.invalid(
        goJson(context),
        'cannot set `allowPrivilegeEscalation` to false and `privileged` to true',
      )
    }
    for (const capability of context.capabilities?.add ?? []) {
      if (capability !== 'CAP_SYS_ADMIN') continue
      at.invalid(
        goJson(context),
        'cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN',
      )
    }
  }
  if (context.windowsOptions) {
    validateWindowsOptions(context.windowsOptions, at.child('windowsOptions'))
  }
  if (context.appArmorProfile) {
    validateAppArmor(context.appArmorProfile, at.child('appArmorProfile'))
  }
}

const profileTypes = ['Localhost', 'RuntimeDefault', 'Unconfined']

function validateSeccomp(profile: SeccompProfile, at: FieldPath): void {
  const { type, localhostProfile } = profile
  if (!type) at.child('type').required('type is required when seccompProfile is set')
  else if (!profileTypes.includes(type)) at.child('type').unsupported(type, profileTypes)

  const profileAt = at.child('localhostProfile')
  if (type !== 'Localhost') {
    if (localhostProfile !== undefined) {
      profileAt.invalid(goJson(profile), 'can only be set when seccomp type is Localhost')
    }
  } else if (localhostProfile === undefined) {
    profileAt.required('must be set when seccomp type is Localhost')
  } else validateLocalDescendingPath(localhostProfile, profileAt)
}

const maxLocalhostProfileBytes = 4095

export function validateAppArmor({ type, localhostProfile }: AppArmorProfile, at: FieldPath): void {
  const profileAt = at.child('localhostProfile')
  const mustBeSet = 'must be set when AppArmor type is Localhost'
  switch (type) {
    case 'Localhost':
      if (localhostProfile === undefined || localhostProfile === '') profileAt.required(mustBeSet)
      else if (localhostProfile.trim() !== localhostProfile) {
        profileAt.invalid(localhostProfile, 'must not be padded with whitespace')
      } else if (Buffer.byteLength(localhostProfile) > maxLocalhostProfileBytes) {
        profileAt.tooLong(maxLocalhostProfileBytes)
      }
      break
    case 'RuntimeDefault':
    case 'Unconfined':
      if (localhostProfile !== undefined) {
        profileAt.invalid(localhostProfile, 'can only be set when AppArmor type is Localhost')
      }
      break
    case '':
    case undefined:
      at.child('type').required('type is required when appArmorProfile is set')
      break
    default:
      at.child('type').unsupported(type, profileTypes)
  }
}

const sysctlSegment = '[a-z0-9]([-_a-z0-9]*[a-z0-9])?'
const sysctlPattern = `^(${sysctlSegment}[\\./])*${sysctlSegment}$`
const sysctlMatcher = new RegExp(sysctlPattern)
const maxSysctlLength = 253
const ipcSysctls = new Set(['kernel.sem'])
const ipcPrefixes = ['kernel.shm', 'kernel.msg', 'fs.mqueue.']

function validateSysctls(sysctls: readonly Sysctl[], spec: PodSpec, at: FieldPath): void {
  const names = new Set<string>()
  for (const [i, { name }] of sysctls.entries()) {
    const nameAt = at.index(i).child('name')
    if (!name) nameAt.required()
    else if (name.length > maxSysctlLength || !sysctlMatcher.test(name)) {
      nameAt.invalid(
        name,
        `must have at most ${maxSysctlLength} characters and match regex ${sysctlPattern}`,
      )
    } else if (names.has(name)) nameAt.duplicate(name)
    const dotted = normalizedSysctl(name ?? '')
    if (spec.hostNetwork && dotted.startsWith('net.')) {
      nameAt.invalid(name, "may not be specified when 'hostNetwork' is true")
    } else if (
      spec.hostIPC &&
      (ipcSysctls.has(dotted) || ipcPrefixes.some((prefix) => dotted.startsWith(prefix)))
    ) {
      nameAt.invalid(name, "may not be specified when 'hostIPC' is true")
    }
    names.add(name)
  }
}

/** A name that uses slashes as separators swaps the two signs. */
function normalizedSysctl(name: string): string {
  const firstSign = /[./]/.exec(name)?.[0]
  if (firstSign !== '/') return name
  return name.replaceAll(/[./]/g, (sign) => (sign === '/' ? '.' : '/'))
}

const maxCredentialSpecKib = 64

function validateWindowsOptions(options: WindowsSecurityContextOptions, at: FieldPath): void {
  const { gmsaCredentialSpecName, gmsaCredentialSpec, runAsUserName } = options
  if (gmsaCredentialSpecName !== undefined) {
    at.child('gmsaCredentialSpecName').invalidEach(
      gmsaCredentialSpecName,
      subdomain(gmsaCredentialSpecName),
    )
  }
  if (gmsaCredentialSpec !== undefined) {
    const specAt = at.child('gmsaCredentialSpec')
    if (gmsaCredentialSpec === '') {
      specAt.invalid(gmsaCredentialSpec, 'gmsaCredentialSpec cannot be an empty string')
    } else if (Buffer.byteLength(gmsaCredentialSpec) > maxCredentialSpecKib * 1024) {
      specAt.invalid(
        gmsaCredentialSpec,
        `gmsaCredentialSpec size must be under ${maxCredentialSpecKib} KiB`,
      )
    }
  }
  if (runAsUserName !== undefined) {
    for (const fault of userNameFaults(runAsUserName)) {
      at.child('runAsUserName').invalid(runAsUserName, fault)
    }
  }
}
