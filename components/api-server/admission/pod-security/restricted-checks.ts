/** The checks that the level restricted adds: current practice of hardened Pods (upstream: pod-security-admission/policy). */
import type { Container } from '../../../api/generated/types.ts'
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

/** From this release on, Windows Pods are exempt from rules that do not apply to Windows. */
const isFreedByWindows = ({ spec }: CheckedPod, minor: number): boolean =>
  minor >= 25 && spec.os?.name === 'windows'

function allowPrivilegeEscalation(pod: CheckedPod, minor: number): Violation | undefined {
  if (isFreedByWindows(pod, minor)) return undefined
  const bad = containersOf(pod.spec).filter(
    (one) => one.securityContext?.allowPrivilegeEscalation !== false,
  )
  if (bad.length === 0) return undefined
  return {
    reason: 'allowPrivilegeEscalation != false',
    detail: `${containerNames(bad)} must set securityContext.allowPrivilegeEscalation=false`,
  }
}

function capabilities(pod: CheckedPod, minor: number): Violation | undefined {
  if (isFreedByWindows(pod, minor)) return undefined
  const containers = containersOf(pod.spec)
  const keeping = containers.filter(
    (one) => one.securityContext?.capabilities?.drop?.includes('ALL') !== true,
  )
  const extra = ({ securityContext }: Container) =>
    (securityContext?.capabilities?.add ?? []).filter((name) => name !== 'NET_BIND_SERVICE')
  const adding = containers.filter((one) => extra(one).length > 0)
  const details = [
    ...(keeping.length > 0
      ? [`${containerNames(keeping)} must set securityContext.capabilities.drop=["ALL"]`]
      : []),
    ...(adding.length > 0
      ? [
          `${containerNames(adding)} must not include ${quotedSet(adding.flatMap(extra))} in securityContext.capabilities.add`,
        ]
      : []),
  ]
  if (details.length === 0) return undefined
  return { reason: 'unrestricted capabilities', detail: details.join('; ') }
}

const allowedVolumes = new Set([
  'configMap',
  'csi',
  'downwardAPI',
  'emptyDir',
  'ephemeral',
  'persistentVolumeClaim',
  'projected',
  'secret',
])

function volumes({ spec }: CheckedPod): Violation | undefined {
  const typesOf = (volume: object) =>
    Object.entries(volume)
      .filter(([field, value]) => field !== 'name' && value !== undefined && value !== null)
      .map(([field]) => field)
  const bad = (spec.volumes ?? []).filter(
    (volume) => !typesOf(volume).some((type) => allowedVolumes.has(type)),
  )
  if (bad.length === 0) return undefined
  const types = new Set(bad.map((volume) => typesOf(volume)[0] ?? 'unknown'))
  const verb = bad.length === 1 ? 'uses' : 'use'
  const names = quoted(bad.map(({ name }) => name))
  return {
    reason: 'restricted volume types',
    detail: `${plural('volume', bad.length)} ${names} ${verb} restricted volume ${plural('type', types.size)} ${quotedSet(types)}`,
  }
}

function runAsNonRoot({ spec }: CheckedPod): Violation | undefined {
  const reason = 'runAsNonRoot != true'
  const own = spec.securityContext?.runAsNonRoot
  const containers = containersOf(spec)
  const refusing = containers.filter((one) => one.securityContext?.runAsNonRoot === false)
  const who = setters(own === false, refusing)
  if (who.length > 0) {
    return {
      reason,
      detail: `${who.join(' and ')} must not set securityContext.runAsNonRoot=false`,
    }
  }
  if (own === true) return undefined
  const silent = containers.filter((one) => typeof one.securityContext?.runAsNonRoot !== 'boolean')
  if (silent.length === 0) return undefined
  return {
    reason,
    detail: `pod or ${containerNames(silent)} must set securityContext.runAsNonRoot=true`,
  }
}

function runAsUser({ spec }: CheckedPod): Violation | undefined {
  const roots = containersOf(spec).filter((one) => one.securityContext?.runAsUser === 0)
  const who = setters(spec.securityContext?.runAsUser === 0, roots)
  if (who.length === 0) return undefined
  return { reason: 'runAsUser=0', detail: `${who.join(' and ')} must not set runAsUser=0` }
}

function seccomp(pod: CheckedPod, minor: number): Violation | undefined {
  if (isFreedByWindows(pod, minor)) return undefined
  const { spec } = pod
  const reason = 'seccompProfile'
  const isConfined = (type: string) => type === 'RuntimeDefault' || type === 'Localhost'
  const own = spec.securityContext?.seccompProfile?.type
  const containers = containersOf(spec)
  const typeOf = (one: Container) => one.securityContext?.seccompProfile?.type
  const bad = containers.filter((one) => !isConfined(typeOf(one) ?? 'Localhost'))
  const isPodBad = own !== undefined && !isConfined(own)
  const who = setters(isPodBad, bad)
  if (who.length > 0) {
    const types = [...(isPodBad ? [own] : []), ...bad.map((one) => typeOf(one) ?? '')]
    return {
      reason,
      detail: `${who.join(' and ')} must not set securityContext.seccompProfile.type to ${quotedSet(types)}`,
    }
  }
  if (own !== undefined) return undefined
  const silent = containers.filter((one) => typeOf(one) === undefined)
  if (silent.length === 0) return undefined
  return {
    reason,
    detail: `pod or ${containerNames(silent)} must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"`,
  }
}

/** In the order of their names. They follow the baseline checks that none of them includes. */
export const restrictedChecks: readonly Check[] = [
  { id: 'allowPrivilegeEscalation', from: 8, run: allowPrivilegeEscalation },
  {
    id: 'capabilities_restricted',
    from: 22,
    overrides: 'capabilities_baseline',
    run: capabilities,
  },
  { id: 'restrictedVolumes', from: 0, overrides: 'hostPathVolumes', run: volumes },
  { id: 'runAsNonRoot', from: 0, run: runAsNonRoot },
  { id: 'runAsUser', from: 23, run: runAsUser },
  { id: 'seccompProfile_restricted', from: 19, overrides: 'seccompProfile_baseline', run: seccomp },
]
