/** The checks of the level baseline: known ways out of a container (upstream: pod-security-admission/policy). */
import type { Container, SELinuxOptions } from '../../../api/generated/types.ts'
import { safeSysctls } from '../../../api/sysctls.ts'
import {
  containerNames,
  containersOf,
  plural,
  quoted,
  quotedSet,
  setters,
  type Check,
  type CheckedPod,
  type Violation,
} from './check.ts'

const isConfined = (type: string | undefined): boolean =>
  type === 'RuntimeDefault' || type === 'Localhost'

function appArmor({ spec, metadata, annotations }: CheckedPod): Violation | undefined {
  const isBad = (type: string | undefined) => type !== undefined && !isConfined(type)
  const podType = spec.securityContext?.appArmorProfile?.type
  const bad = containersOf(spec).filter((one) => isBad(one.securityContext?.appArmorProfile?.type))
  const who = setters(isBad(podType), bad)
  const types = bad.map((one) => one.securityContext?.appArmorProfile?.type ?? '')
  if (isBad(podType)) types.push(podType ?? '')
  const values = [...new Set(types)].toSorted()
  const isAllowed = (text: string) =>
    text === '' || text === 'runtime/default' || text.startsWith('localhost/')
  const noted = Object.entries(metadata.annotations ?? {})
    .filter(([key, text]) => key.startsWith(annotations.appArmor) && !isAllowed(text))
    .map(([key, text]) => `${key}="${text}"`)
    .toSorted()
  if (noted.length > 0) who.push(plural('annotation', noted.length))
  if (who.length === 0) return undefined
  values.push(...noted)
  return {
    reason: plural('forbidden AppArmor profile', values.length),
    detail: `${who.join(' and ')} must not set AppArmor profile type to ${quoted(values)}`,
  }
}

const defaultCapabilities = new Set(
  'AUDIT_WRITE CHOWN DAC_OVERRIDE FOWNER FSETID KILL MKNOD NET_BIND_SERVICE SETFCAP SETGID SETPCAP SETUID SYS_CHROOT'.split(
    ' ',
  ),
)

function capabilities({ spec }: CheckedPod): Violation | undefined {
  const extra = ({ securityContext }: Container) =>
    (securityContext?.capabilities?.add ?? []).filter((name) => !defaultCapabilities.has(name))
  const bad = containersOf(spec).filter((one) => extra(one).length > 0)
  if (bad.length === 0) return undefined
  return {
    reason: 'non-default capabilities',
    detail: `${containerNames(bad)} must not include ${quotedSet(bad.flatMap(extra))} in securityContext.capabilities.add`,
  }
}

function hostNamespaces({ spec }: CheckedPod): Violation | undefined {
  const fields = ['hostNetwork', 'hostPID', 'hostIPC'] as const
  const set = fields.filter((field) => spec[field] === true).map((field) => `${field}=true`)
  return set.length === 0 ? undefined : { reason: 'host namespaces', detail: set.join(', ') }
}

function hostPathVolumes({ spec }: CheckedPod): Violation | undefined {
  const names = (spec.volumes ?? []).filter(({ hostPath }) => hostPath).map(({ name }) => name)
  if (names.length === 0) return undefined
  return {
    reason: 'hostPath volumes',
    detail: `${plural('volume', names.length)} ${quoted(names)}`,
  }
}

function hostPorts({ spec }: CheckedPod): Violation | undefined {
  const portsOf = ({ ports }: Container) =>
    (ports ?? []).map(({ hostPort }) => hostPort ?? 0).filter((port) => port !== 0)
  const bad = containersOf(spec).filter((one) => portsOf(one).length > 0)
  if (bad.length === 0) return undefined
  const ports = [...new Set(bad.flatMap(portsOf).map(String))].toSorted()
  const verb = bad.length === 1 ? 'uses' : 'use'
  return {
    reason: 'hostPort',
    detail: `${containerNames(bad)} ${verb} ${plural('hostPort', ports.length)} ${ports.join(', ')}`,
  }
}

function privileged({ spec }: CheckedPod): Violation | undefined {
  const bad = containersOf(spec).filter((one) => one.securityContext?.privileged === true)
  if (bad.length === 0) return undefined
  const detail = `${containerNames(bad)} must not set securityContext.privileged=true`
  return { reason: 'privileged', detail }
}

function procMount({ spec }: CheckedPod): Violation | undefined {
  const typeOf = (one: Container) => one.securityContext?.procMount ?? 'Default'
  const bad = containersOf(spec).filter((one) => typeOf(one) !== 'Default')
  if (bad.length === 0) return undefined
  return {
    reason: 'procMount',
    detail: `${containerNames(bad)} must not set securityContext.procMount to ${quotedSet(bad.map(typeOf))}`,
  }
}

const seLinuxTypes = new Set(['', 'container_t', 'container_init_t', 'container_kvm_t'])

function seLinux({ spec }: CheckedPod, minor: number): Violation | undefined {
  const isType = (type = '') =>
    seLinuxTypes.has(type) || (minor >= 31 && type === 'container_engine_t')
  const isBad = (options: SELinuxOptions | undefined) =>
    Boolean(options && (!isType(options.type) || options.user || options.role))
  const own = spec.securityContext?.seLinuxOptions
  const bad = containersOf(spec).filter((one) => isBad(one.securityContext?.seLinuxOptions))
  const who = setters(isBad(own), bad)
  if (who.length === 0) return undefined
  const all = [own, ...bad.map((one) => one.securityContext?.seLinuxOptions)]
  const types = all.map((one) => one?.type ?? '').filter((type) => !isType(type))
  const faults = [
    ...(types.length > 0 ? [`${plural('type', new Set(types).size)} ${quotedSet(types)}`] : []),
    ...(all.some((one) => one?.user) ? ['user may not be set'] : []),
    ...(all.some((one) => one?.role) ? ['role may not be set'] : []),
  ]
  return {
    reason: 'seLinuxOptions',
    detail: `${who.join(' and ')} set forbidden securityContext.seLinuxOptions: ${faults.join('; ')}`,
  }
}

function annotatedSeccomp({ metadata, annotations }: CheckedPod): Violation | undefined {
  const isAllowed = (text: string) =>
    text === 'runtime/default' || text === 'docker/default' || text.startsWith('localhost/')
  const bad = Object.entries(metadata.annotations ?? {})
    .filter(([key, text]) => key.includes(annotations.seccomp) && !isAllowed(text))
    .map(([key, text]) => `${key}="${text}"`)
    .toSorted()
  if (bad.length === 0) return undefined
  return {
    reason: 'seccompProfile',
    detail: `forbidden ${plural('annotation', bad.length)} ${bad.join(', ')}`,
  }
}

function seccomp(pod: CheckedPod, minor: number): Violation | undefined {
  if (minor < 19) return annotatedSeccomp(pod)
  const { spec } = pod
  const isBad = (type: string | undefined) => type !== undefined && !isConfined(type)
  const own = spec.securityContext?.seccompProfile?.type
  const bad = containersOf(spec).filter((one) => isBad(one.securityContext?.seccompProfile?.type))
  const who = setters(isBad(own), bad)
  if (who.length === 0) return undefined
  const types = bad.map((one) => one.securityContext?.seccompProfile?.type ?? '')
  if (isBad(own)) types.push(own ?? '')
  return {
    reason: 'seccompProfile',
    detail: `${who.join(' and ')} must not set securityContext.seccompProfile.type to ${quotedSet(types)}`,
  }
}

function sysctls({ spec }: CheckedPod, minor: number): Violation | undefined {
  const names = (spec.securityContext?.sysctls ?? []).map(({ name }) => name)
  const bad = names.filter(
    (name) => (safeSysctls.get(name) ?? Infinity) > minor || !safeSysctls.has(name),
  )
  return bad.length === 0 ? undefined : { reason: 'forbidden sysctls', detail: bad.join(', ') }
}

function windowsHostProcess({ spec }: CheckedPod): Violation | undefined {
  const bad = containersOf(spec).filter(
    (one) => one.securityContext?.windowsOptions?.hostProcess === true,
  )
  const who = setters(spec.securityContext?.windowsOptions?.hostProcess === true, bad)
  if (who.length === 0) return undefined
  return {
    reason: 'hostProcess',
    detail: `${who.join(' and ')} must not set securityContext.windowsOptions.hostProcess=true`,
  }
}

/** In the order of their names, which is that of violations in messages. */
export const baselineChecks: readonly Check[] = [
  { id: 'appArmorProfile', from: 0, run: appArmor },
  { id: 'capabilities_baseline', from: 0, run: capabilities },
  { id: 'hostNamespaces', from: 0, run: hostNamespaces },
  { id: 'hostPathVolumes', from: 0, run: hostPathVolumes },
  { id: 'hostPorts', from: 0, run: hostPorts },
  { id: 'privileged', from: 0, run: privileged },
  { id: 'procMount', from: 0, run: procMount },
  { id: 'seLinuxOptions', from: 0, run: seLinux },
  { id: 'seccompProfile_baseline', from: 0, run: seccomp },
  { id: 'sysctls', from: 0, run: sysctls },
  { id: 'windowsHostProcess', from: 0, run: windowsHostProcess },
]
